// Search of the cases of two or three runs; those that are alike are folded.
(() => {
  const search = document.getElementById("q"), same = document.querySelector("#answers details");
  const rows = [...document.querySelectorAll("#answers tr[data-row]")], words = rows.map((row) => folded(row.textContent));
  const none = document.getElementById("none");
  const show = () => {
    const terms = terms_of(search.value);
    rows.forEach((row, i) => { row.hidden = !terms.every((term) => words[i].includes(term)); });
    if (same && terms.length) same.open = true;
    if (none) none.hidden = rows.some((row) => !row.hidden);
  };
  search.addEventListener("input", show);
  pageKeys({ acts: { d: () => { if (same) same.open = !same.open; } } });
})();
