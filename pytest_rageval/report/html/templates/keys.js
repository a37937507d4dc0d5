// The keys of every page: search, next and previous row, the list of keys. A page names its own.
const pageKeys = (own = {}) => {
  const search = document.getElementById("q"), dialog = document.getElementById("keys");
  const rows = () => [...document.querySelectorAll("[data-row]")].filter((row) => row.offsetParent);
  const move = (by) => {
    const all = rows(), at = all.findIndex((row) => row.contains(document.activeElement));
    const row = all[Math.min(Math.max(at + by, 0), all.length - 1)];
    const place = row && (row.querySelector("a") ?? row);
    if (!place) return;
    place.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  };
  const acts = {
    j: () => move(1), k: () => move(-1),
    "/": () => { search?.focus(); search?.select(); },
    "?": () => dialog.showModal(),
    ...own.acts,
  };
  const leave = own.leave ?? (() => { search.value = ""; search.dispatchEvent(new Event("input")); search.blur(); });
  const enter = own.enter ?? (() => { search.blur(); move(1); });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape" && own.close?.()) { event.preventDefault(); return; }
    if (search && event.target === search && (event.key === "Escape" || event.key === "Enter")) {
      event.preventDefault();  // else the browser empties the box without an event, or sends the form
      (event.key === "Escape" ? leave : enter)();
      return;
    }
    if (event.target.closest("input:not([type=checkbox]), select, textarea")) return;
    const act = acts[event.key];
    if (act && !act()) event.preventDefault();
  });
  dialog.querySelector("button").addEventListener("click", () => dialog.close());
  document.getElementById("help").addEventListener("click", () => dialog.showModal());
  return { rows, move };
};
