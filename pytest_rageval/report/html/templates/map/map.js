(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("map-data").textContent);
  const canvas = byId("map"), pen = canvas.getContext("2d");
  const tip = byId("tip"), detail = byId("detail"), list = byId("points");
  const fields = { by: byId("by"), q: byId("q"), misses: byId("only-misses") };
  const KINDS = ["chunk", "gold", "question, passed", "question, not passed"];
  const MISSED = 3, COLOURS = 11, STAMP = 16, SQUARE = 5.5, LISTED = 100, REACH = 14, MOST_ZOOM = 400;
  const n = data.x.length;
  const cases = new Map(data.cases.map((one) => [one.point, one]));
  const users = new Map();  // chunk or gold: the questions that it is linked with
  for (const one of data.cases) {
    for (const [point] of [...one.golds, ...one.retrieved]) {
      if (!users.has(point)) users.set(point, new Set());
      users.get(point).add(one.point);
    }
  }
  const shown = new Uint8Array(n).fill(1), view = { x: 0, y: 0, zoom: 1 };
  let order = [], words = null, stamps = [], inks = [], only = -1;
  let hovered = -1, selected = -1, pending = false, width = 1, height = 1, ratio = 1;

  // --- drawing: chunks are plain squares, other points copies of a stamp; a path for each is slow --

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  function path(kind, to, c, r) {
    to.beginPath();
    if (kind === 0) to.rect(c - r, c - r, 2 * r, 2 * r);
    else if (kind === 1) { to.moveTo(c, c - r); to.lineTo(c + r, c); to.lineTo(c, c + r); to.lineTo(c - r, c); to.closePath(); }
    else if (kind === 2) to.arc(c, c, r, 0, 2 * Math.PI);
    else { to.moveTo(c - r, c - r); to.lineTo(c + r, c + r); to.moveTo(c + r, c - r); to.lineTo(c - r, c + r); }
  }
  const inkOf = (group) => inks[group] = inks[group] || colour(`p${group}`);
  function stampOf(kind, group) {
    const at = kind * COLOURS + group;
    if (!stamps[at]) {
      const made = stamps[at] = document.createElement("canvas");
      made.width = made.height = STAMP * ratio;
      const to = made.getContext("2d");
      to.scale(ratio, ratio);
      path(kind, to, STAMP / 2, [SQUARE / 2, 5.5, 4.25, 4.25][kind]);
      if (kind === MISSED) {
        to.lineCap = "round";
        to.lineWidth = 5; to.strokeStyle = colour("bg"); to.stroke();
        to.lineWidth = 2.75; to.strokeStyle = inkOf(group); to.stroke();
      } else {
        to.fillStyle = inkOf(group); to.fill();
        to.lineWidth = 1.25; to.strokeStyle = colour("bg"); to.stroke();
      }
    }
    return stamps[at];
  }
  const scale = () => Math.min(width / data.extent[0], height / data.extent[1]) * .46 * view.zoom;
  const place = (i) => {
    const by = scale();
    return { x: width / 2 + (data.x[i] - view.x) * by, y: height / 2 - (data.y[i] - view.y) * by };
  };
  function schedule() {
    if (!pending) { pending = true; requestAnimationFrame(draw); }
  }
  function draw() {
    pending = false;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    if (selected >= 0) links(selected);
    const groups = data.groups[fields.by.value].of, by = scale(), half = STAMP / 2;
    const left = width / 2 - view.x * by, top = height / 2 + view.y * by;
    let ink = -1;
    for (let i = 0; i < n; i++) {
      if (!shown[i]) continue;
      const x = left + data.x[i] * by, y = top - data.y[i] * by;
      if (x < -half || y < -half || x > width + half || y > height + half) continue;
      const group = groups[i];
      if (data.kind[i]) {
        pen.drawImage(stampOf(data.kind[i], group), x - half, y - half, STAMP, STAMP);
        continue;
      }
      if (group !== ink) { pen.fillStyle = inkOf(group); ink = group; }
      pen.fillRect(x - SQUARE / 2, y - SQUARE / 2, SQUARE, SQUARE);
    }
    if (selected >= 0) ring(selected, 3);
    if (hovered >= 0) ring(hovered, 1.5);
  }
  function ring(i, thick) {
    const { x, y } = place(i);
    pen.beginPath(); pen.arc(x, y, 9.5, 0, 2 * Math.PI);
    pen.lineWidth = thick; pen.strokeStyle = colour("fg"); pen.stroke();
  }
  function line(from, to, dash) {
    const a = place(from), b = place(to);
    pen.setLineDash(dash); pen.beginPath(); pen.moveTo(a.x, a.y); pen.lineTo(b.x, b.y); pen.stroke();
  }
  function links(i) {
    pen.lineWidth = 1.5; pen.strokeStyle = colour("dim");
    const one = cases.get(i);
    if (one) {
      for (const [point] of one.golds) line(i, point, []);
      for (const [point] of one.retrieved) line(i, point, [6, 4]);
      for (const [point] of one.wrong) line(i, point, [1.5, 4]);
    } else for (const point of users.get(i) || []) line(i, point, [6, 4]);
    pen.setLineDash([]);
  }

  // --- view ------------------------------------------------------------------------------------

  function pan(x, y) { const by = scale(); view.x -= x / by; view.y += y / by; moved(); }
  function zoom(factor, at = { x: width / 2, y: height / 2 }) {
    const before = scale();
    view.zoom = Math.min(MOST_ZOOM, Math.max(.5, view.zoom * factor));
    const after = scale(), x = at.x - width / 2, y = at.y - height / 2;
    view.x += x / before - x / after; view.y -= y / before - y / after;
    moved();
  }
  function reset() { view.x = view.y = 0; view.zoom = 1; moved(); }
  function moved() { if (hovered >= 0) put(hovered); schedule(); }
  function reveal(i) {
    const { x, y } = place(i);
    if (x < 10 || y < 10 || x > width - 10 || y > height - 10) { view.x = data.x[i]; view.y = data.y[i]; }
  }
  function hit(at) {
    let found = -1, least = REACH * REACH;
    for (let i = 0; i < n; i++) {
      if (!shown[i]) continue;
      const { x, y } = place(i), away = (x - at.x) ** 2 + (y - at.y) ** 2;
      if (away <= least) { least = away; found = i; }
    }
    return found;
  }

  // --- words: every text goes through textContent -------------------------------------------------

  const element = (tag, text = "", name = "") => {
    const made = document.createElement(tag);
    made.textContent = text; made.className = name;
    return made;
  };
  const similarity = (value) => value === null ? "-" : value.toFixed(3);
  const groupOf = (i) => { const by = data.groups[fields.by.value]; return by.names[by.of[i]]; };
  function put(i) {
    const { x, y } = place(i);
    tip.hidden = x < 0 || y < 0 || x > width || y > height;
    tip.style.left = `${Math.max(0, Math.min(x + 12, width - tip.offsetWidth))}px`;
    tip.style.top = y + 14 + tip.offsetHeight > height ? `${Math.max(0, y - 14 - tip.offsetHeight)}px` : `${y + 14}px`;
  }
  function hover(i, aloud = false) {
    if (i === hovered && !aloud) return;
    hovered = i;
    tip.hidden = i < 0;
    if (i >= 0) {
      tip.replaceChildren(element("b", data.title[i]), element("small", `${KINDS[data.kind[i]]}; ${groupOf(i)}`), element("p", data.text[i], "text"));
      if (aloud) { reveal(i); byId("said").textContent = `${KINDS[data.kind[i]]}: ${data.title[i]}. ${data.text[i]}`; }
      put(i);
    }
    schedule();
  }
  for (const link of document.querySelectorAll('#misses a[href^="#point-"]')) link.dataset.point = link.hash.slice(7);
  function mark(button) {
    if (Number(button.dataset.point) === selected) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
  function pointButton(i, after) {
    const made = element("button", data.title[i], "point");
    made.type = "button"; made.dataset.point = i;
    const said = element("span", ["chunk", "gold", "passed", "not passed"][data.kind[i]], `mark k${data.kind[i]}`);
    made.prepend(said, " ");
    if (after) made.append(" ", element("small", after));
    mark(made);
    return made;
  }
  function linked(title, pairs, word) {
    if (!pairs.length) return;
    const made = element("ul", "", "plain");
    for (const pair of pairs) {
      const item = element("li");
      item.append(pointButton(pair[0], word(pair)));
      made.append(item);
    }
    detail.append(element("h4", title), made);
  }
  function select(i, focus = false) {
    selected = i;
    if (i < 0) detail.replaceChildren(element("p", "Select a point on the map, in the list or in the table of misses."));
    else {
      reveal(i);
      describe(i);
      byId("said").textContent = `Selected ${KINDS[data.kind[i]]}: ${data.title[i]}`;
    }
    if (focus) detail.focus();
    document.querySelectorAll("[data-point]").forEach(mark);
    schedule();
  }
  function describe(i) {
    const one = cases.get(i);
    detail.replaceChildren(element("h3", data.title[i]), element("p", `${KINDS[data.kind[i]]}; ${groupOf(i)}`, "legend"), element("p", data.text[i] || "Its text was not stored.", "text box"));
    if (!one) {
      linked("Questions that retrieved it or have it as gold", [...users.get(i) || []].slice(0, LISTED).map((point) => [point]), () => "");
      return;
    }
    const facts = [`Outcome: ${one.outcome}${one.stage ? `, ${one.stage}` : ""}.`];
    if (one.gold !== null) facts.push(`Nearest text of a gold: ${similarity(one.gold)}.`);
    if (one.nearer !== null) facts.push(`Wrong chunks nearer than that: ${one.nearer}.`);
    detail.append(element("p", facts.join(" ")));
    linked("Golds", one.golds, ([, value]) => similarity(value));
    linked("Retrieved", one.retrieved, ([, value, fits]) => `${similarity(value)}${fits === true ? ", gold" : fits === false ? ", wrong" : ""}`);
    linked("Nearest wrong chunks", one.wrong, ([, value]) => `${similarity(value)}${one.gold !== null && value > one.gold ? ", nearer than gold" : ""}`);
  }

  // --- filter, legend, list ------------------------------------------------------------------------

  function filter() {
    words = words || data.title.map((title, i) => folded(`${title}\n${data.text[i]}`));
    const parts = terms_of(fields.q.value);
    const groups = data.groups[fields.by.value].of;
    let kept = null;
    if (fields.misses.checked) {
      kept = new Set();
      for (const one of data.cases) {
        if (data.kind[one.point] !== MISSED) continue;
        kept.add(one.point);
        for (const [point] of [...one.golds, ...one.retrieved, ...one.wrong]) kept.add(point);
      }
    }
    order = [];
    for (let i = n - 1; i >= 0; i--) {
      shown[i] = (!kept || kept.has(i)) && (only < 0 || groups[i] === only) && parts.every((part) => words[i].includes(part)) ? 1 : 0;
      if (shown[i]) order.push(i);
    }
    order.sort((a, b) => data.kind[b] - data.kind[a] || a - b);
    byId("shown").textContent = `${order.length} of ${n} points` + (order.length > LISTED ? `; the first ${LISTED} are listed, search to narrow` : "");
    list.replaceChildren(...order.slice(0, LISTED).map((i, row) => {
      const item = element("li"), button = pointButton(i);
      button.tabIndex = row ? -1 : 0;
      item.append(button);
      return item;
    }));
    if (hovered >= 0 && !shown[hovered]) hover(-1);
    schedule();
  }
  function legend() {
    const { names, of } = data.groups[fields.by.value], counts = new Array(COLOURS).fill(0);
    for (const group of of) counts[group]++;
    byId("legend").replaceChildren(...names.map((name, group) => {
      const item = element("li"), button = element("button", `${name} (${counts[group]})`);
      button.type = "button";
      button.setAttribute("aria-pressed", String(only === group));
      button.prepend(element("span", "", `swatch g${group}`));
      button.addEventListener("click", () => {
        only = only === group ? -1 : group;
        [...byId("legend").querySelectorAll("button")].forEach((one, at) => one.setAttribute("aria-pressed", String(only === at)));
        filter();
      });
      item.append(button);
      return item;
    }));
    byId("shapes").replaceChildren(...KINDS.map((kind, at) => {
      const item = element("li"), stamp = element("canvas");
      stamp.width = stamp.height = STAMP * ratio;
      stamp.setAttribute("aria-hidden", "true");
      stamp.getContext("2d").drawImage(stampOf(at, 10), 0, 0);
      item.append(stamp, kind);
      return item;
    }));
  }
  function repaint() { stamps = []; inks = []; legend(); schedule(); }

  // --- events ------------------------------------------------------------------------------------

  const at = (event) => ({ x: event.offsetX, y: event.offsetY });
  const touches = new Map();
  let travelled = 0, spread = 0;
  const pinch = () => {
    const [a, b] = [...touches.values()];
    return b && { gap: Math.hypot(a.x - b.x, a.y - b.y), x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    if (!touches.size) travelled = 0;
    touches.set(event.pointerId, at(event));
    spread = touches.size === 2 ? pinch().gap : 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const now = at(event), before = touches.get(event.pointerId);
    if (!before) return hover(hit(now));
    touches.set(event.pointerId, now);
    travelled += Math.hypot(now.x - before.x, now.y - before.y);
    if (touches.size === 1) return travelled < 5 ? undefined : pan(now.x - before.x, now.y - before.y);
    const { gap, x, y } = pinch();
    if (spread) zoom(gap / spread, { x, y });
    spread = gap;
  });
  const lift = (event) => {
    const clicked = touches.delete(event.pointerId) && event.type === "pointerup" && travelled < 5;
    if (clicked) { const found = hit(at(event)); hover(found); select(found); }
  };
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
  canvas.addEventListener("pointerleave", () => hover(-1));
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY * (event.deltaMode ? .05 : .0015)), at(event));
  }, { passive: false });

  function step(by) {
    if (!order.length) return;
    const from = order.indexOf(hovered >= 0 ? hovered : selected);
    hover(order[from < 0 ? (by > 0 ? 0 : order.length - 1) : (from + by + order.length) % order.length], true);
  }
  const KEYS = {
    ArrowLeft: () => pan(50, 0), ArrowRight: () => pan(-50, 0), ArrowUp: () => pan(0, 50), ArrowDown: () => pan(0, -50),
    "+": () => zoom(1.4), "=": () => zoom(1.4), "-": () => zoom(1 / 1.4), 0: reset,
    j: () => step(1), k: () => step(-1), Enter: () => { if (hovered >= 0) select(hovered); },
    Escape: () => { hover(-1); select(-1); },
  };
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(KEYS, event.key)) return;
    KEYS[event.key]();
    event.preventDefault();
  });
  canvas.addEventListener("blur", () => hover(-1));
  list.addEventListener("keydown", (event) => {
    const buttons = [...list.querySelectorAll("button")], from = buttons.indexOf(document.activeElement);
    const to = { ArrowDown: from + 1, ArrowUp: from - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (from < 0 || to === undefined || !buttons[to]) return;
    buttons[from].tabIndex = -1; buttons[to].tabIndex = 0;
    buttons[to].focus();
    event.preventDefault();
  });
  document.addEventListener("focusin", (event) => {
    const button = event.target.closest("#points button, #detail button");
    if (button) { reveal(Number(button.dataset.point)); hover(Number(button.dataset.point)); }
  });
  document.addEventListener("focusout", (event) => {
    if (event.target.closest("#points button, #detail button")) hover(-1);
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-point]");
    if (!button) return;
    event.preventDefault();
    const i = Number(button.dataset.point), far = !button.closest("#points");
    if (!shown[i]) { clear(); }
    select(i, far);
    if (button.closest("#misses")) byId("picture").scrollIntoView();
  });
  function clear() {
    fields.q.value = ""; fields.misses.checked = false; only = -1;
    legend(); filter();
  }
  fields.q.addEventListener("input", filter);
  fields.misses.addEventListener("change", filter);
  fields.by.addEventListener("change", () => { only = -1; legend(); filter(); });
  byId("clear").addEventListener("click", clear);
  byId("in").addEventListener("click", () => zoom(1.4));
  byId("out").addEventListener("click", () => zoom(1 / 1.4));
  byId("reset").addEventListener("click", reset);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  const paper = (on) => { document.documentElement.classList.toggle("paper", on); repaint(); pending = false; draw(); };
  addEventListener("beforeprint", () => paper(true));
  addEventListener("afterprint", () => paper(false));
  new ResizeObserver(() => {
    const fresh = window.devicePixelRatio || 1;
    width = canvas.clientWidth; height = canvas.clientHeight;
    canvas.width = width * fresh; canvas.height = height * fresh;
    if (fresh !== ratio) { ratio = fresh; repaint(); }
    schedule();
  }).observe(canvas);
  legend(); filter(); select(-1);
})();
