// Filters of the list of runs; they stand in the address, so that the way back finds them.
(() => {
  const byId = (id) => document.getElementById(id);
  const rows = [...document.querySelectorAll("tr.run")];
  if (!rows.length) { pageKeys(); return; }
  const words = rows.map((row) => folded(row.dataset.words));
  const search = byId("q"), tag = byId("tag"), gate = byId("gate"), partial = byId("partial");
  const boxes = [...document.querySelectorAll(".pick input")], compare = byId("compare");

  function read() {
    const state = new URLSearchParams(location.hash.slice(1));
    search.value = state.get("q") ?? "";
    if (tag) tag.value = state.get("tag") ?? "";
    gate.value = state.get("gate") ?? "";
    for (const field of [tag, gate]) if (field && field.selectedIndex < 0) field.value = "";
    partial.checked = state.get("partial") !== "no";
    const chosen = state.getAll("run");
    for (const box of boxes) box.checked = chosen.includes(box.value);
    show();
  }

  function write() {
    const state = new URLSearchParams();
    if (search.value) state.set("q", search.value);
    if (tag && tag.value) state.set("tag", tag.value);
    if (gate.value) state.set("gate", gate.value);
    if (!partial.checked) state.set("partial", "no");
    for (const box of boxes) if (box.checked) state.append("run", box.value);
    const text = state.toString();
    history.replaceState(null, "", text ? `#${text}` : location.pathname);
    show();
  }

  function show() {
    const terms = terms_of(search.value);
    let n = 0;
    for (const [i, row] of rows.entries()) {
      const fits = terms.every((term) => words[i].includes(term))
        && (!tag || !tag.value || row.dataset.tags.split(" ").includes(tag.value))
        && (!gate.value || row.dataset.gate === gate.value)
        && (partial.checked || !row.dataset.partial);
      row.hidden = !fits;
      n += fits ? 1 : 0;
    }
    byId("shown").textContent = n === rows.length ? "" : `${n} of ${rows.length}`;
    byId("none").hidden = n > 0;
    if (!compare) return;
    const chosen = boxes.filter((box) => box.checked).length;
    compare.disabled = chosen < 2 || chosen > 3;
    byId("hint").textContent = chosen > 3 ? `${chosen} are chosen: at most three can be compared.`
      : chosen === 1 ? "One is chosen: choose one or two more." : "Choose two or three; they are compared with the oldest.";
  }

  for (const field of [search, tag, gate, partial, ...boxes]) if (field) field.addEventListener("input", write);
  byId("choose").addEventListener("submit", (event) => { if (!compare || compare.disabled) event.preventDefault(); });
  byId("clear")?.addEventListener("click", () => {
    search.value = gate.value = "";
    if (tag) tag.value = "";
    partial.checked = true;
    write();
  });
  // Enter in the search would press the button of the form, which leads away.
  pageKeys({ acts: { x: () => {
    const box = document.activeElement.closest("tr.run")?.querySelector(".pick input");
    if (box) { box.checked = !box.checked; write(); }
  } } });
  addEventListener("hashchange", read);
  read();
})();
