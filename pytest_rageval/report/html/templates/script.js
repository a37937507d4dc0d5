"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const table = byId("case-table");
  const cases = [...table.tBodies];
  const fields = { q: byId("f-text"), category: byId("f-category"), outcome: byId("f-outcome") };
  const heads = [...table.tHead.rows[0].cells];
  const words = new Map();
  let sort = "", descending = false, current = null, opened = null, touched = false;

  const shownCases = () => [...table.tBodies].filter((one) => !one.hidden);
  const text = (one) => {
    if (!words.has(one)) {
      const labels = one.querySelector(".labels");
      words.set(one, (one.rows[0].textContent + " " + (labels ? labels.textContent : "")).toLowerCase());
    }
    return words.get(one);
  };
  const outcomeFits = (one, wanted) =>
    !wanted || one.dataset.outcome === wanted || one.dataset.flip === wanted ||
    (wanted === "not-passed" && one.dataset.outcome !== "passed");

  function filter() {
    const parts = fields.q.value.toLowerCase().split(/\s+/).filter(Boolean);
    const category = fields.category.value, outcome = fields.outcome.value;
    let n = 0;
    for (const one of cases) {
      const fits = (!category || one.dataset.category === category) && outcomeFits(one, outcome) &&
        (!parts.length || parts.every((part) => text(one).includes(part)));
      one.hidden = !fits;
      n += fits;
    }
    byId("shown").textContent = n === cases.length ? `${n} cases` : `${n} of ${cases.length} cases`;
    byId("none").hidden = n > 0;
  }

  function order() {
    const column = heads.findIndex((head) => head.dataset.sort === sort);
    heads.forEach((head, i) => {
      if (i === column) head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    let sorted = cases;
    if (column >= 0) {
      const numeric = heads[column].classList.contains("num");
      const value = (one) => one.rows[0].cells[column].dataset.v;
      const keyed = cases.map((one) => [numeric && value(one) !== "" ? Number(value(one)) : value(one), one]);
      const sign = descending ? -1 : 1;
      const compare = numeric ? (a, b) => a - b : new Intl.Collator("en", { numeric: true }).compare;
      // Cases without a value come last in either direction.
      keyed.sort(([a], [b]) => (a === "") - (b === "") || (a === "" ? 0 : sign * compare(a, b)));
      sorted = keyed.map(([, one]) => one);
    }
    const rows = document.createDocumentFragment();
    rows.append(...sorted);
    table.append(rows);
  }

  function mark(one) {
    if (current) current.classList.remove("current");
    current = one;
    if (one) one.classList.add("current");
  }

  function open(one) {
    if (opened && opened !== one) toggle(opened, false);
    opened = one;
    if (one) { toggle(one, true); mark(one); }
  }

  function toggle(one, wanted) {
    one.classList.toggle("open", wanted);
    const link = one.querySelector("a.open");
    if (link.hasAttribute("aria-expanded")) link.setAttribute("aria-expanded", String(wanted));
  }

  // The hash holds the state: #case-<id> alone, or fields as in a query string.
  function write() {
    touched = true;
    const state = new URLSearchParams();
    for (const [name, field] of Object.entries(fields)) if (field.value) state.set(name, field.value);
    if (sort) { state.set("sort", sort); if (descending) state.set("dir", "desc"); }
    let hash = state.toString();
    if (opened) hash = hash ? `${hash}&case=${encodeURIComponent(opened.id)}` : opened.id;
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  }

  function find(name) {
    const found = byId(name);
    return found && found.classList.contains("case") ? found : null;
  }

  function read() {
    const hash = location.hash.slice(1);
    if (!hash && !touched) return;  // avoids a second layout of thousands of cases
    touched = true;
    const alone = find(hash) || find(decoded(hash));
    if (!alone && hash && !hash.includes("=")) return;
    const state = new URLSearchParams(alone ? "" : hash);
    for (const [name, field] of Object.entries(fields)) {
      if (alone) continue;
      field.value = state.get(name) || "";
      if (field.selectedIndex === -1) field.value = "";
    }
    if (!alone) {
      const wanted = [state.get("sort") || "", state.get("dir") === "desc"];
      const same = wanted[0] === sort && wanted[1] === descending;
      [sort, descending] = wanted;
      if (!same) order();
    }
    filter();
    const chosen = alone || find(state.get("case") || "");
    if (chosen && chosen.hidden) { clear(); }
    open(chosen);
    if (chosen) chosen.scrollIntoView({ block: "start" });
  }

  function decoded(hash) {
    try { return decodeURIComponent(hash); } catch { return ""; }
  }

  function clear() {
    for (const field of Object.values(fields)) field.value = "";
    filter();
  }

  function step(by) {
    const rows = shownCases();
    if (!rows.length) return;
    const at = rows.indexOf(current);
    const next = at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(Math.max(at + by, 0), rows.length - 1);
    mark(rows[next]);
    const link = current.querySelector("a.open");
    link.focus({ preventScroll: true });
    current.rows[0].scrollIntoView({ block: "nearest" });
  }

  function choose(one) {
    open(one === opened ? null : one);
    write();
  }

  for (const field of Object.values(fields)) field.addEventListener("input", () => { filter(); write(); });
  byId("f-clear").addEventListener("click", () => { clear(); write(); fields.q.focus(); });
  table.tHead.addEventListener("click", (event) => {
    const head = event.target.closest("th[data-sort]");
    if (!head) return;
    if (sort !== head.dataset.sort) { sort = head.dataset.sort; descending = false; }
    else if (!descending) descending = true;
    else { sort = ""; descending = false; }
    order(); write();
  });
  table.addEventListener("click", (event) => {
    const copy = event.target.closest("button.copy");
    if (copy) return copyCommand(copy);
    const row = event.target.closest("tr.row");
    if (!row || (event.target.closest("a") && (event.ctrlKey || event.metaKey || event.shiftKey))) return;
    if (!event.target.closest("a") && String(getSelection())) return;
    event.preventDefault();
    mark(row.parentElement);
    choose(row.parentElement);
  });
  async function copyCommand(button) {
    const code = button.previousElementSibling;
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = "Selected";
    }
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target;
    if (target.closest("input, select, textarea")) {
      if (event.key !== "Escape") return;
      if (target === fields.q) {
        event.preventDefault();  // else the browser empties the box after blur(), without an event
        fields.q.value = "";
        filter(); write();
      }
      target.blur();
      return;
    }
    if (event.key === "j" || event.key === "k") step(event.key === "j" ? 1 : -1);
    else if (event.key === "/") fields.q.focus();
    else if (event.key === "Enter" && current && !target.closest("a, button, summary")) choose(current);
    else return;
    event.preventDefault();
  });
  addEventListener("hashchange", read);
  read();
})();
