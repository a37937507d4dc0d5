"use strict";
(() => {
  const NAMED = { ArrowUp: "up", ArrowDown: "down", Home: "home", End: "end", " ": "space",
    Enter: "enter", Escape: "escape", Backspace: "backspace" };
  const MOVES = new Set(["up", "down", "j", "k", "backspace"]);
  const PATIENCE_MS = 300;
  const byId = (id) => document.getElementById(id);
  const waiting = [];
  let busy = false;
  let settledOn = "";
  let helped = false;  // whether the keys were shown before
  let held = false;  // after a refused key, until the user has acknowledged the reason

  const said = byId("said"), alarm = byId("alarm");
  history.replaceState(null, "", location.pathname);  // the token works only once

  // --- rendering -----------------------------------------------------------------------------

  const alike = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName &&
    (a.nodeType !== Node.ELEMENT_NODE || a.id === b.id);

  // Changes only nodes that differ, so that focus and scroll position are kept.
  function patch(old, fresh) {
    if (old.isEqualNode(fresh)) return;
    if (old.nodeType !== Node.ELEMENT_NODE) { old.nodeValue = fresh.nodeValue; return; }
    for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
    for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    const olds = [...old.childNodes], news = [...fresh.childNodes];
    if (olds.length === news.length && olds.every((node, i) => alike(node, news[i]))) {
      olds.forEach((node, i) => patch(node, news[i]));
    } else {
      old.replaceChildren(...news);
    }
  }

  function show(html) {
    const mode = byId("work").dataset.mode;
    const held = document.activeElement && document.activeElement.id;
    const fresh = new DOMParser().parseFromString(html, "text/html");
    for (const id of ["head", "work"]) patch(byId(id), fresh.getElementById(id));
    const work = byId("work");
    if (document.title !== work.dataset.title) {
      document.title = work.dataset.title;
      byId("head").scrollTop = 0;
    }
    const button = held && byId(held);
    if (button && button.matches("button") && mode === work.dataset.mode) button.focus({ preventScroll: true });
    else focus();
    settle();
  }

  function focus() {
    const wanted = document.querySelector("[data-focus]");
    if (wanted) wanted.focus({ preventScroll: true });
  }

  // Scrolls the keys that were asked for, or else the element that keys act on, into view below the
  // header, from its start if it is too tall.
  function settle() {
    const root = document.documentElement, top = byId("top").offsetHeight + 12;
    root.style.scrollPaddingTop = `${top}px`;
    root.style.setProperty("--top", `${top}px`);
    const wanted = document.querySelector("[data-focus]"), help = byId("help");
    const asked = help && !helped;
    helped = help !== null;
    const place = asked ? help : wanted && (wanted.matches("ul") ? wanted.querySelector(".current") : wanted.closest("section"));
    if (!place) return;
    const key = `${document.title} ${place.id}`;
    const tall = place.offsetHeight > innerHeight - top && key !== settledOn;
    settledOn = key;
    place.scrollIntoView({ block: tall ? "start" : "nearest" });
  }

  // --- sending -------------------------------------------------------------------------------

  async function send(key) {
    const field = byId("typed"), place = byId("work").dataset.place;
    const body = { key, revision: Number(byId("work").dataset.revision) };
    if (field && key === "enter") body.text = field.value;
    busy = true;
    document.body.dataset.busy = "true";
    const patience = setTimeout(() => { said.textContent = said.dataset.waiting; }, PATIENCE_MS);
    try {
      const reply = await fetch("key", {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
      });
      if (reply.ok || reply.status === 409) {
        const shown = await reply.json();
        held = shown.stale;
        show(shown.html);
        said.textContent = shown.said;
        // Nobody had seen what they would act on.
        if (byId("work").dataset.place !== place && waiting.length) {
          waiting.length = 0;
          said.textContent = said.dataset.early;
        }
        alarm.textContent = shown.alarm;
      } else {
        fail(await reply.text());
      }
    } catch {
      fail("No reply: the command in the terminal has ended. What was saved is in the file.");
    }
    clearTimeout(patience);
    busy = false;
    if (held) waiting.length = 0;
    while (waiting.length && !busy) act(waiting.shift());
    if (!busy) delete document.body.dataset.busy;
  }

  function fail(sentence) {
    waiting.length = 0;
    said.textContent = "";
    alarm.textContent = sentence;
  }

  function act(key) {
    const field = byId("typed");
    if (!field || key === "enter" || key === "escape") return send(key);
    field.focus();
    if (key === "backspace") field.value = [...field.value].slice(0, -1).join("");
    else if (key === "space") field.value += " ";
    else if ([...key].length === 1) field.value += key;
  }

  function resume(key) {
    if (key !== "escape") return;
    held = false;
    alarm.textContent = "";
    focus();
  }

  function take(key) {
    if (byId("work").dataset.mode === "closed") return;
    if (held && !busy) return resume(key);
    if (busy) waiting.push(key);
    else act(key);
  }

  // --- events --------------------------------------------------------------------------------

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.isComposing || event.keyCode === 229) return;
    const key = NAMED[event.key] || ([...event.key].length === 1 ? event.key : "");
    const target = event.target;
    if (!key || (event.repeat && !MOVES.has(key) && target.id !== "typed")) return;
    if ((key === "enter" || key === "space") && target.closest("button")) return;
    // The field handles its keys itself unless a request is pending.
    if (target.id === "typed" && !busy && key !== "enter" && key !== "escape") return;
    event.preventDefault();
    take(key);
  });

  document.addEventListener("click", (event) => {
    const more = event.target.closest("#all-actions");
    if (more) {
      more.setAttribute("aria-expanded", String(byId("controls").classList.toggle("open")));
      return;
    }
    const place = event.target.closest("[data-key]");
    if (!place || (place.matches("li") && String(getSelection()))) return;
    if (event.detail > 0) focus();  // after a click, space marks a row instead of clicking again
    take(held ? "escape" : place.dataset.key);
  });

  document.addEventListener("paste", (event) => {
    if (busy) event.preventDefault();
  });

  focus();
  settle();
})();
