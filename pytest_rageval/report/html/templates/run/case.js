// What a case that was put into the view can do; it is given with its number.
const dressCase = (() => {
  async function copied(button, text) {
    const label = button.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      const box = document.createElement("textarea");
      box.value = text;
      box.readOnly = true;
      box.setAttribute("aria-label", "Text to copy");
      button.after(box);
      box.select();
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = label; }, 2000);
  }

  // The text of a part, without the labels of marks.
  function plain(part) {
    const copy = part.cloneNode(true);
    for (const label of copy.querySelectorAll("sup")) label.remove();
    return copy.textContent;
  }

  // The columns of the list, and the texts of the case as the page shows them.
  function asJson(article, i) {
    const one = (name) => {
      const part = article.querySelector(`[data-part="${name}"]`);
      return part ? plain(part) : null;
    };
    const chunks = [...article.querySelectorAll(".chunks > li[id]")].map((chunk) => ({
      rank: Number(chunk.id.slice(chunk.id.lastIndexOf(".") + 1)),
      path: chunk.querySelector("code")?.textContent ?? null,
      heading: chunk.querySelector("i")?.textContent ?? null,
      text: chunk.querySelector(".fold") ? plain(chunk.querySelector(".fold")) : null,
    }));
    return JSON.stringify({
      ...list.values(i), question: one("question"), expected_answer: one("expected"),
      expected_key_facts: [...article.querySelectorAll('[data-part="fact"]')].map((fact) =>
        "okay" in fact.dataset ? { text: plain(fact), vital: false } : plain(fact)),
      answer: one("answer"), retrieved_chunks: chunks,
    }, null, 1);
  }

  // Long texts but evidence show three lines until they are asked for.
  function fold(text) {
    if (text.scrollHeight <= text.clientHeight + 2) return;
    if (text.closest(".gold")) { text.classList.add("unfolded"); return; }
    const button = list.make("button", { type: "button", className: "more" }, "Show all");
    button.setAttribute("aria-expanded", "false");
    button.addEventListener("click", () => {
      const open = text.classList.toggle("unfolded");
      button.textContent = open ? "Show less" : "Show all";
      button.setAttribute("aria-expanded", String(open));
    });
    text.after(button);
  }

  return (article, i) => {
    for (const code of article.querySelectorAll(".commands code")) {
      const name = code.textContent.startsWith("pytest") ? "Run it again" : "Explain it";
      const button = list.make("button", { type: "button", ariaLabel: `Copy: ${name}` }, "Copy");
      button.addEventListener("click", () => copied(button, code.textContent));
      code.before(list.make("small", {}, name), " ");
      code.after(" ", button);
    }
    const json = list.make("button", { type: "button" }, "Copy as JSON");
    json.addEventListener("click", () => copied(json, asJson(article, i)));
    article.querySelector(".commands")?.append(json);
    article.querySelectorAll(".fold").forEach(fold);
    // Links to parts of the case move within it; the address still names the case.
    article.addEventListener("click", (event) => {
      const link = event.target.closest('a[href^="#"]');
      const part = link && document.getElementById(link.getAttribute("href").slice(1));
      if (!part || !article.contains(part)) return;
      event.preventDefault();
      part.tabIndex = -1;
      part.focus({ preventScroll: true });
      part.scrollIntoView({ block: "center" });
    });
  };
})();
