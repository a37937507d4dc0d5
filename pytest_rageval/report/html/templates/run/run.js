// Views, keys and downloads: the address decides what is shown.
(() => {
  const byId = (id) => document.getElementById(id);
  const search = byId("q");
  const places = new Map();  // scroll position by address, for the way back
  const lengths = new Map();  // rows that were shown
  let shown = { view: "", list: state.plain() }, address = null, patience = 0;

  history.scrollRestoration = "manual";

  const closeMenus = (but = null) => {
    const open = [...document.querySelectorAll("details.menu[open]")].filter((one) => !but || !one.contains(but));
    for (const one of open) {
      if (one.contains(document.activeElement)) one.querySelector("summary").focus();
      one.open = false;
    }
    return open.length > 0;
  };
  document.addEventListener("click", (event) => closeMenus(event.target));

  function route() {
    if (location.hash === address) return;  // the way back fires two events
    const next = state.read(location.hash);
    const old = shown;
    address = location.hash;
    shown = next;
    document.body.dataset.view = next.view;
    if (next.view !== old.view) closeMenus();
    if (next.view === "cases" && old.view !== "cases") byId("facets").scrollTop = 0;
    for (const link of document.querySelectorAll("#bar nav a")) {
      if (link.hash === `#${next.view}` || (next.view === "case" && link.hash === "#cases")) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    if (document.activeElement !== search) search.value = next.list.q;
    if (next.view === "cases") list.show(next.list, lengths.get(address));
    if (next.view === "case") openCase(next);
    else byId("opened").replaceChildren();
    settle(next, old);
  }

  function settle(next, old) {
    const part = next.part && byId(next.part);
    if (part && next.view !== "cases") {
      part.scrollIntoView({ block: "start" });
    } else if (next.view !== old.view || next.view === "case") {
      scrollTo(0, places.get(address) ?? 0);
    }
    if (next.view === "cases" && old.view === "case" && document.activeElement !== search) {
      const row = document.querySelector(`tr[data-case="${old.open}"] a.open`);
      if (row) row.focus({ preventScroll: true });
    }
  }

  addEventListener("scroll", () => {
    if (address !== null) places.set(address, scrollY);
    if (shown.view === "cases") lengths.set(address, list.n_shown());
  }, { passive: true });

  // --- one case --------------------------------------------------------------------------------

  function openCase({ list: from, open }) {
    const around = list.ordered(from, list.choose(from).fitting);
    const at = around.indexOf(open);
    const step = (link, place) => {
      link.hidden = at < 0 || place < 0 || place >= around.length;
      if (!link.hidden) link.href = state.write(from, around[place]);
    };
    byId("back").href = state.write(from);
    step(byId("previous"), at - 1);
    step(byId("next"), at + 1);
    byId("place").textContent = at < 0 ? "" : `${at + 1} of ${around.length}`;
    const holder = document.createElement("template");
    holder.innerHTML = cases.html(open) ?? "<article></article>";  // the page's own markup, all texts in it escaped
    const article = holder.content.querySelector("article");
    byId("opened").replaceChildren(article);
    dressCase(article, open);
    document.dispatchEvent(new CustomEvent("case-shown", { detail: { anchor: cases.data.anchor[open], article } }));
  }

  // --- search and keys -------------------------------------------------------------------------

  function type() {
    const next = state.changed(shown.view === "overview" ? state.plain() : shown.list, { q: search.value });
    const target = state.write(next);
    if (shown.view === "cases") history.replaceState(null, "", target); else history.pushState(null, "", target);
    route();
  }
  search.addEventListener("input", () => {
    clearTimeout(patience);
    patience = setTimeout(type, 40);
  });

  function move(by) {
    if (shown.view === "case") {
      const link = byId(by > 0 ? "next" : "previous");
      if (!link.hidden) location.hash = link.hash;
      return;
    }
    if (shown.view !== "cases") location.hash = "#cases";
    const rows = () => [...document.querySelectorAll("#case-table tr.row")];
    const at = rows().findIndex((one) => one.contains(document.activeElement));
    const wanted = Math.max(at + by, 0);
    list.showUpTo(wanted + 1);
    const row = rows()[wanted];
    if (!row) return;
    row.querySelector("a.open").focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }

  const goTo = (hash) => { if (location.hash !== hash) location.hash = hash; };
  pageKeys({
    acts: {
      j: () => move(1), k: () => move(-1), o: () => goTo("#overview"), c: () => goTo("#cases"),
      Escape: () => { if (shown.view === "case") goTo(state.write(shown.list)); else return true; },
    },
    close: closeMenus,
    leave: () => {
      search.value = "";
      search.blur();
      if (shown.list.q) type();
    },
    enter: () => {
      clearTimeout(patience);
      type();
      search.blur();
      const rows = document.querySelectorAll("#case-table tr.row");
      if (rows.length === 1) location.hash = rows[0].querySelector("a.open").hash; else move(1);
    },
  });

  byId("case-table").addEventListener("click", (event) => {
    const row = event.target.closest("tr.row");
    if (!row || event.target.closest("a, button") || String(getSelection())) return;
    location.hash = row.querySelector("a.open").hash;
  });

  // --- downloads -------------------------------------------------------------------------------

  const shownRows = () => list.found().map(list.values);
  // A cell that a spreadsheet would run as a formula is marked as text.
  function cell(value) {
    let text = value === null ? "" : Array.isArray(value) ? value.join(" ") : String(value);
    if (typeof value !== "number" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }
  function save(name, type, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
  byId("csv").addEventListener("click", () => {
    const rows = shownRows(), names = rows.length ? Object.keys(rows[0]) : [];
    const lines = [names, ...rows.map((row) => names.map((name) => row[name]))];
    // Excel takes a file without a byte order mark for one of an old character set.
    save("cases.csv", "text/csv", `\ufeff${lines.map((line) => line.map(cell).join(",")).join("\r\n")}\r\n`);
  });
  byId("json").addEventListener("click", () => save("cases.json", "application/json", JSON.stringify(shownRows(), null, 1)));

  addEventListener("beforeprint", () => { if (shown.view === "cases") list.showUpTo(cases.n); });
  addEventListener("hashchange", route);
  addEventListener("popstate", route);
  byId("facets").open = innerWidth >= 900;
  // A phone begins with the words; paper has all.
  const charts = [...document.querySelectorAll("details.charts")];
  if (innerWidth < 720) for (const one of charts) one.open = false;
  addEventListener("beforeprint", () => { for (const one of charts) one.open = true; });
  route();
  document.addEventListener("DOMContentLoaded", () => {
    cases.readAhead();
    if (shown.view === "case" || shown.list.q) { address = null; route(); }
  });
})();
