// Notes of people on a case: shown on every page that has them, taken where a server keeps them.
(() => {
  const { run, editable, keys, notes } = JSON.parse(document.getElementById("notes-data").textContent);
  const { make } = list;
  let author = "";
  const unsaved = new Map();  // by anchor; what could not be saved stays until it can
  try { author = sessionStorage.getItem("rageval-author") ?? ""; } catch { /* no storage: it is typed again */ }

  const shownNote = (note) => make("div", { className: "note" },
    make("p", { className: "text", dir: "auto", textContent: note.text }),
    make("small", { textContent: [note.author, note.time].filter(Boolean).join(", ") }));

  async function send(anchor, text, by) {
    const [file, id, repeat] = keys[anchor];
    const reply = await fetch("note", { method: "POST", keepalive: true, headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ run, file, id, repeat, text, author: by }) });
    if (!reply.ok) throw new Error((await reply.text()).trim());
    notes[anchor] = (await reply.json()).notes;
  }

  function form(anchor, refresh) {
    const own = () => (notes[anchor] ?? []).find((note) => note.author === name.value.trim())?.text ?? "";
    const name = make("input", { value: author, maxLength: 100, autocomplete: "off", size: 16 });
    const area = make("textarea", { maxLength: 10000, dir: "auto" });
    const status = make("span", { role: "status" });
    const button = make("button", { type: "submit", textContent: "Save the note" });
    const box = make("form", { className: "take-note" },
      make("label", {}, "Your note on this case ", area),
      make("p", {}, make("label", {}, "Author ", name), button, status));
    area.value = unsaved.get(anchor)?.text ?? own();
    const mark = () => {
      if (area.value === own()) unsaved.delete(anchor); else unsaved.set(anchor, { text: area.value, save });
    };
    const save = async () => {
      const wanted = { text: area.value, by: name.value.trim() };
      unsaved.delete(anchor);
      status.textContent = "Saving";
      try {
        await send(anchor, wanted.text, wanted.by);
        status.textContent = wanted.text.trim() ? "Saved" : "Removed";
        refresh();
      } catch (error) {
        unsaved.set(anchor, { text: wanted.text, save });
        status.textContent = `Not saved: ${error.message === "Failed to fetch" ? "the command in the terminal has ended" : error.message}`;
      }
    };
    area.addEventListener("input", () => { status.textContent = "Not saved yet"; mark(); });
    area.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); save(); } });
    name.addEventListener("change", () => {
      author = name.value.trim();
      try { sessionStorage.setItem("rageval-author", author); } catch { /* as above */ }
      if (!unsaved.has(anchor)) area.value = own(); else mark();
    });
    box.addEventListener("submit", (event) => { event.preventDefault(); save(); });
    if (unsaved.has(anchor)) mark();  // tried again from here, where the answer is shown
    return box;
  }

  document.addEventListener("case-shown", ({ detail: { anchor, article } }) => {
    for (const [of, { save }] of [...unsaved]) if (of !== anchor) save();  // leaving a case keeps what was typed
    if (!editable && !notes[anchor]) return;
    const shown = make("div");
    const refresh = () => shown.replaceChildren(...(notes[anchor] ?? []).map(shownNote));
    refresh();
    const parts = [make("h3", { textContent: "Notes" }), shown];
    if (editable) parts.push(form(anchor, refresh));
    article.append(make("section", { className: "notes-of-case" }, ...parts));
  });
  const saveAll = () => { for (const { save } of [...unsaved.values()]) save(); };
  addEventListener("hashchange", saveAll);
  addEventListener("pagehide", saveAll);
})();
