// Search and filter of the cases of two or three runs.
(() => {
  const search = document.getElementById("q"), differ = document.getElementById("differ");
  if (!search) { pageKeys(); return; }
  const rows = [...document.querySelectorAll("tr[data-row]")], words = rows.map((row) => folded(row.textContent));
  const none = document.getElementById("none");
  const show = () => {
    const terms = terms_of(search.value);
    rows.forEach((row, i) => { row.hidden = !terms.every((term) => words[i].includes(term)); });
    none.hidden = rows.some((row) => row.offsetParent);
  };
  search.addEventListener("input", show);
  differ?.addEventListener("input", show);
  pageKeys({ acts: { d: () => { if (differ) { differ.checked = !differ.checked; show(); } } } });
  show();
})();
