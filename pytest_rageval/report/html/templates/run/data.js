// The columns of all cases, and the text of each for the search. Cases are numbers from 0.
const cases = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const n = data.id.length;
  let sources = null;
  const metrics = new Map(data.metrics.map((one) => [one.key, one]));
  const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', "#34": '"', "#39": "'", "#x27": "'" };

  // The markup of a case, which stands in the page as text so that a browser need not lay it out;
  // null while the page is still being read.
  function html(i) {
    if (document.readyState === "loading") return null;
    sources ??= document.querySelectorAll("#case > noscript");  // in the order of the columns
    return sources[i].textContent;
  }

  const texts = new Array(n), lowered = new Array(n);
  const text = (i) => texts[i] ??= (html(i) ?? "").replace(/<wbr>/g, "").replace(/<[^>]*>/g, " ")
    .replace(/&(#?\w+);/g, (whole, name) => ENTITIES[name] ?? " ").replace(/\s+/g, " ").normalize("NFC");
  const words = (i) => lowered[i] ??= folded(`${data.id[i]} ${data.question[i]} ${text(i)}`);

  // Reads ahead while nothing else is to do, so that the first search need not.
  function readAhead(from = 0) {
    if (from === 0) { texts.fill(undefined); lowered.fill(undefined); }
    if (from >= n || !window.requestIdleCallback) return;
    requestIdleCallback((time) => {
      let i = from;
      while (i < n && time.timeRemaining() > 2) words(i++);
      readAhead(i);
    });
  }

  const value = (key, i) => {
    if (key === "ms") return data.ms[i];
    if (key === "rank") return data.rank[i];
    return metrics.has(key) ? metrics.get(key).values[i] : null;
  };
  const names = (key, i) => data.facets[key].of[i].map((place) => data.facets[key].names[place]);

  // A score that is not whole never looks whole.
  const shown = (key, i) => {
    const found = value(key, i);
    if (found === null) return "-";
    if (key === "rank") return String(found);
    if (key === "ms") return found.toFixed(found < 10 && !Number.isInteger(found) ? 1 : 0);
    if (Math.abs(found) >= 1000) return found.toFixed(0);
    let digits = 3;
    while (!Number.isInteger(found) && digits < 6 && Number.isInteger(Number(found.toFixed(digits)))) digits += 1;
    return found.toFixed(digits);
  };

  return {
    n, data, metrics, html, text, words, readAhead, value, names, shown,
    facets: Object.keys(data.facets),
    byAnchor: new Map(data.anchor.map((anchor, i) => [anchor, i])),
  };
})();
