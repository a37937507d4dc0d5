// What the address says: a view, and the search, filters, order and columns of the list.
const state = (() => {
  const decoded = (text) => {
    try { return decodeURIComponent(text); } catch { return ""; }
  };
  const isRange = (key) => cases.metrics.has(key) || key === "ms" || key === "rank";
  const plain = () => ({ q: "", facets: {}, ranges: {}, sort: "", descending: false, columns: null });

  // A range is lo..hi, lo..<hi without its upper end, one number, or none for no value.
  function fits(range) {
    if (range === "none") return (value) => value === null;
    const [low, high = low] = range.split("..");
    const open = high.startsWith("<");
    const from = low === "" ? -Infinity : Number(low);
    const to = high === "" ? Infinity : Number(open ? high.slice(1) : high);
    return (value) => value !== null && value >= from && (open ? value < to : value <= to);
  }

  function list(query) {
    const found = plain(), fields = new URLSearchParams(query);
    found.q = fields.get("q") || "";
    for (const key of cases.facets) {
      const chosen = fields.getAll(key).filter((name) => cases.data.facets[key].names.includes(name));
      if (chosen.length) found.facets[key] = chosen;
    }
    for (const [key, range] of fields) if (isRange(key)) found.ranges[key] = range;
    const sort = fields.get("sort") || "";
    found.sort = isRange(sort) || ["id", "outcome", "stage", "category"].includes(sort) ? sort : "";
    found.descending = found.sort !== "" && fields.get("dir") === "desc";
    if (fields.has("cols")) found.columns = fields.get("cols").split(",").filter((key) => cases.metrics.has(key));
    return found;
  }

  // Returns the view, the list's state, and the case or the element to show.
  function read(hash) {
    const text = hash.replace(/^#/, "");
    const alone = (name) => cases.byAnchor.get(name) ?? cases.byAnchor.get(decoded(name));
    if (alone(text) !== undefined) return { view: "case", list: plain(), open: alone(text) };
    if (text === "cases") return { view: "cases", list: plain() };
    if (!text.includes("=")) return { view: "overview", list: plain(), part: text };
    const chosen = cases.byAnchor.get(new URLSearchParams(text).get("case") || "");
    return { view: chosen === undefined ? "cases" : "case", list: list(text), open: chosen };
  }

  // The address of a list, or of one case that was opened from it.
  function write(one, open = null) {
    const fields = new URLSearchParams();
    if (one.q) fields.set("q", one.q);
    for (const [key, names] of Object.entries(one.facets)) for (const name of names) fields.append(key, name);
    for (const [key, range] of Object.entries(one.ranges)) fields.set(key, range);
    if (one.sort) fields.set("sort", one.sort);
    if (one.descending) fields.set("dir", "desc");
    if (one.columns) fields.set("cols", one.columns.join(","));
    const query = fields.toString().replaceAll("+", "%20");
    if (open === null) return query ? `#${query}` : "#cases";
    const anchor = cases.data.anchor[open];
    return query ? `#case=${encodeURIComponent(anchor)}&${query}` : `#${anchor}`;
  }

  const changed = (one, change) => ({ ...one, ...change });
  // Adds or takes out one name of a facet.
  function toggled(one, key, name) {
    const had = one.facets[key] || [];
    const names = had.includes(name) ? had.filter((other) => other !== name) : [...had, name];
    const facets = { ...one.facets };
    if (names.length) facets[key] = names; else delete facets[key];
    return changed(one, { facets });
  }
  function without(one, key) {
    const ranges = { ...one.ranges };
    delete ranges[key];
    return changed(one, { ranges });
  }

  return { read, write, fits, changed, toggled, without, plain };
})();
