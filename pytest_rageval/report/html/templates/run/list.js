// The list of cases: which ones a state shows, in which order, and how many each filter would leave.
const list = (() => {
  const byId = (id) => document.getElementById(id);
  const table = byId("case-table"), head = table.tHead, body = table.tBodies[0];
  const STEP = 100;
  const SYMBOLS = { passed: "\u2713", missed: "\u2717", flawed: "~", flaky: "\u2248", error: "!", unchecked: "?", worse: "\u25bc", better: "\u25b2" };
  const TITLES = { outcome: "Outcome", stage: "Stage", category: "Category", tag: "Tag", difficulty: "Difficulty",
    turn: "Turn", flip: "Since the baseline", check: "Check" };
  const MOST_NAMES = 300;  // 5,000 take more than a second at every key of a search
  const collator = new Intl.Collator("en", { numeric: true });
  let now = state.plain(), found = [], n_shown = 0, boxes = null;

  const make = (tag, fields = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(fields)) {
      if (name in made && name !== "list") made[name] = value; else made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  };

  const go = (next) => { location.hash = state.write(next); };

  // --- which cases -----------------------------------------------------------------------------

  function search(one) {
    const terms = terms_of(one.q), ranges = Object.entries(one.ranges).map(([key, range]) => [key, state.fits(range)]);
    return (i) => ranges.every(([key, fits]) => fits(cases.value(key, i))) && terms.every((term) => cases.words(i).includes(term));
  }

  // One pass: the cases that fit, and for each name of a facet those that fit all other facets.
  function choose(one) {
    const base = search(one), { facets } = cases.data;
    const tests = Object.entries(one.facets).map(([key, names]) => {
      const wanted = new Set(names.map((name) => facets[key].names.indexOf(name)));
      return [key, (i) => facets[key].of[i].some((place) => wanted.has(place))];
    });
    const counts = Object.fromEntries(cases.facets.map((key) => [key, new Array(facets[key].names.length).fill(0)]));
    const fitting = [];
    for (let i = 0; i < cases.n; i += 1) {
      if (!base(i)) continue;
      const failed = tests.filter(([, fits]) => !fits(i));
      if (failed.length > 1) continue;
      if (!failed.length) fitting.push(i);
      for (const key of failed.length ? [failed[0][0]] : cases.facets) for (const place of facets[key].of[i]) counts[key][place] += 1;
    }
    return { fitting, counts };
  }

  function ordered(one, fitting) {
    if (!one.sort) return fitting;
    const numeric = one.sort === "ms" || one.sort === "rank" || cases.metrics.has(one.sort);
    const key = (i) => numeric ? cases.value(one.sort, i) : one.sort === "id" ? cases.data.id[i] : cases.names(one.sort, i)[0] ?? null;
    const sign = one.descending ? -1 : 1, compare = numeric ? (a, b) => a - b : collator.compare;
    // Cases without a value come last in either direction.
    return fitting.map((i) => [key(i), i])
      .sort(([a], [b]) => (a === null) - (b === null) || (a === null ? 0 : sign * compare(a, b))).map(([, i]) => i);
  }

  // --- table -----------------------------------------------------------------------------------

  const columns = () => now.columns ?? cases.data.shown;

  function fillHead() {
    const cell = (key, title, numeric, more = "") => {
      const made = make("th", { scope: "col", className: numeric ? "num" : "", title: more });
      made.dataset.sort = key;
      if (now.sort === key) made.setAttribute("aria-sort", now.descending ? "descending" : "ascending");
      made.append(make("button", { type: "button" }, ...breakable(title)));
      return made;
    };
    const focused = head.contains(document.activeElement) && document.activeElement.closest("th").dataset.sort;
    head.replaceChildren(make("tr", {},
      cell("id", "Case"), cell("outcome", "Outcome"), cell("stage", "Stage"), cell("category", "Category"),
      ...columns().map((key) => cell(key, key, true, cases.metrics.get(key).title)),
      cell("ms", "ms", true)));
    if (focused) head.querySelector(`th[data-sort="${CSS.escape(focused)}"] button`)?.focus({ preventScroll: true });
  }

  // Long names may break behind an underscore.
  const breakable = (name) => name.split(/(?<=_)/).flatMap((part) => [part, make("wbr")]);
  const tag = (name) => make("span", { className: `tag t-${name}` }, make("span", { ariaHidden: "true" }, SYMBOLS[name] ?? ""), ` ${name}`);

  function row(i) {
    const { data } = cases;
    const link = make("a", { className: "open", href: state.write(now, i) }, data.id[i]);
    const first = make("th", { scope: "row", className: "q" }, link);
    for (const note of [data.marks[i], data.required[i] ? "required" : ""]) if (note) first.append(" ", make("small", {}, note));
    const outcome = make("td", {}, ...cases.names("outcome", i).map(tag));
    for (const flip of cases.names("flip", i)) outcome.append(" ", tag(flip));
    first.append(make("span", { dir: "auto" }, data.question[i]), ...excerpt(i));
    const made = make("tr", { className: "row" }, first, outcome,
      make("td", { className: "name" }, ...cases.names("stage", i).flatMap(breakable)),
      make("td", { className: "name" }, make("bdi", {}, ...cases.names("category", i).flatMap(breakable))),
      ...[...columns(), "ms"].map((key) => {
        const made = make("td", { className: "num" }, cases.shown(key, i));
        made.dataset.name = key;
        return made;
      }));
    made.dataset.case = i;
    return made;
  }

  // The place in answer or chunks where the search was found, if the row does not show it already.
  function excerpt(i) {
    const missing = terms_of(now.q).find((term) => !folded(`${cases.data.id[i]} ${cases.data.question[i]}`).includes(term));
    if (!missing) return [];
    const text = cases.text(i), lower = folded(text), whole = folded(now.q).trim();
    const term = lower.includes(whole) ? whole : missing, at = lower.indexOf(term);
    if (at < 0) return [];
    const from = Math.max(at - 60, 0), to = at + term.length;
    return [make("span", { className: "excerpt", dir: "auto" }, `${from ? "\u2026" : ""}${text.slice(from, at)}`,
      make("mark", {}, text.slice(at, to)), `${text.slice(to, to + 80)}\u2026`)];
  }

  function showUpTo(wanted) {
    const last = Math.min(Math.max(wanted, n_shown), found.length);
    body.append(...found.slice(n_shown, last).map(row));
    n_shown = last;
    byId("more").hidden = last >= found.length;
  }

  // --- filters ---------------------------------------------------------------------------------

  function buildFacets() {
    boxes = new Map();
    const groups = cases.facets.filter((key) => cases.data.facets[key].names.length).map((key) => {
      const names = cases.data.facets[key].names.slice(0, MOST_NAMES).map((name) => {
        const box = make("input", { type: "checkbox", autocomplete: "off" }), count = make("span", { className: "count" });
        box.addEventListener("change", () => { go(state.toggled(now, key, name)); });
        boxes.set(`${key} ${name}`, { box, count, total: totals[key].get(name) });
        return make("label", {}, box, " ", make("bdi", {}, name), " ", count);
      });
      const n_more = cases.data.facets[key].names.length - names.length;
      return make("fieldset", {}, make("legend", {}, TITLES[key]), ...names,
        n_more ? make("small", {}, `${n_more} more: search for the name`) : "");
    });
    byId("facet-lists").replaceChildren(...groups);
    const metrics = [...cases.metrics.keys()].map((key) => {
      const box = make("input", { type: "checkbox", autocomplete: "off" });
      box.dataset.column = key;
      box.addEventListener("change", () => {
        const chosen = new Set(columns());
        if (box.checked) chosen.add(key); else chosen.delete(key);
        go(state.changed(now, { columns: [...cases.metrics.keys()].filter((one) => chosen.has(one)) }));
      });
      return make("label", {}, box, " ", key);
    });
    byId("columns").replaceChildren(...metrics);
  }
  const totals = Object.fromEntries(cases.facets.map((key) => {
    const { names, of } = cases.data.facets[key], counts = new Array(names.length).fill(0);
    for (const places of of) for (const place of places) counts[place] += 1;
    return [key, new Map(names.map((name, place) => [name, counts[place]]))];
  }));

  function fillFacets(counts) {
    if (!boxes) buildFacets();
    for (const key of cases.facets) {
      cases.data.facets[key].names.slice(0, MOST_NAMES).forEach((name, place) => {
        const { box, count, total } = boxes.get(`${key} ${name}`), n = counts[key][place];
        box.checked = (now.facets[key] || []).includes(name);
        count.textContent = n === total ? String(n) : `${n} of ${total}`;
        box.parentElement.classList.toggle("empty", n === 0 && !box.checked);
      });
    }
    for (const box of byId("columns").querySelectorAll("input")) box.checked = columns().includes(box.dataset.column);
  }

  function fillChips() {
    const chip = (text, next) => make("li", {}, make("a", { className: "chip", href: state.write(next), title: "Remove this filter" },
      make("bdi", {}, text), make("span", { ariaHidden: "true" }, " \u00d7")));
    const chips = Object.entries(now.facets).flatMap(([key, names]) => names.map((name) => chip(`${key}: ${name}`, state.toggled(now, key, name))));
    for (const [key, range] of Object.entries(now.ranges)) chips.push(chip(`${key}: ${range}`, state.without(now, key)));
    if (now.q) chips.push(chip(`text: ${now.q}`, state.changed(now, { q: "" })));
    if (chips.length > 1) chips.push(make("li", {}, make("a", { href: "#cases" }, "Clear all")));
    byId("chips").replaceChildren(...chips);
  }

  // --- show ------------------------------------------------------------------------------------

  function show(next, atLeast = 0) {
    now = next;
    const { fitting, counts } = choose(now);
    found = ordered(now, fitting);
    n_shown = 0;
    fillHead();
    body.replaceChildren();
    showUpTo(Math.max(STEP, atLeast));
    fillFacets(counts);
    fillChips();
    const asked = new Set(found.map((i) => cases.data.case[i])).size, all = new Set(cases.data.case).size;
    byId("shown").textContent = `${asked === all ? "" : `${asked} of `}${all} case${all === 1 ? "" : "s"}`
      + (all === cases.n ? "" : `, ${found.length} repeat${found.length === 1 ? "" : "s"}`);
    byId("none").hidden = found.length > 0;
  }

  head.addEventListener("click", (event) => {
    const column = event.target.closest("th[data-sort]");
    if (!column) return;
    const sort = column.dataset.sort, again = now.sort === sort;
    go(state.changed(now, again && now.descending ? { sort: "", descending: false } : { sort, descending: again }));
  });
  byId("more").addEventListener("click", () => showUpTo(n_shown + STEP));
  if (window.IntersectionObserver) {
    new IntersectionObserver((seen) => { if (seen.some((one) => one.isIntersecting)) showUpTo(n_shown + STEP); }, { rootMargin: "600px" })
      .observe(byId("more"));
  }

  // One case as a record, for downloads.
  const values = (i) => ({
    id: cases.data.id[i], outcome: cases.names("outcome", i)[0] ?? "", stage: cases.names("stage", i)[0] ?? "",
    category: cases.names("category", i)[0] ?? "", difficulty: cases.names("difficulty", i)[0] ?? "",
    turn: cases.names("turn", i)[0] ?? "", tags: cases.names("tag", i), change: cases.names("flip", i)[0] ?? "", question: cases.data.question[i],
    ms: cases.data.ms[i], first_gold_rank: cases.data.rank[i],
    ...Object.fromEntries([...cases.metrics.keys()].map((key) => [key, cases.value(key, i)])),
  });

  return { values, show, choose, ordered, make, showUpTo, n_shown: () => n_shown, found: () => found };
})();
