// Tags are given and removed by the server that the page came from.
(() => {
  const byId = (id) => document.getElementById(id);
  const dialog = byId("tagging"), name = byId("tag-name"), fault = byId("tag-fault");
  let run = "";

  async function send(body) {
    const reply = await fetch("tag", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    if (!reply.ok) throw new Error((await reply.text()).trim());
    sessionStorage.setItem("tagged", body.run);
    location.reload();
  }

  function complain(error) {
    fault.textContent = error.message === "Failed to fetch" ? "The command in the terminal has ended." : error.message;
    fault.hidden = false;
    if (!dialog.open) { name.closest("p").hidden = byId("tag-save").hidden = true; dialog.showModal(); }
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest(".run-tags button");
    if (!button) return;
    fault.hidden = true;
    name.closest("p").hidden = byId("tag-save").hidden = false;
    if (button.dataset.remove) {
      send({ tag: button.dataset.remove, run: button.closest("tr").id.slice(4), remove: true }).catch(complain);
      return;
    }
    run = button.dataset.run;
    byId("tagged-run").textContent = run;
    name.value = "";
    dialog.showModal();
  });
  dialog.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    send({ tag: name.value.trim(), run, remove: false }).catch(complain);
  });
  byId("tag-cancel").addEventListener("click", () => dialog.close());

  // The keyboard goes on at the run whose tags were changed before the page was loaded again.
  const tagged = sessionStorage.getItem("tagged");
  sessionStorage.removeItem("tagged");
  if (tagged) document.querySelector(`.add[data-run="${CSS.escape(tagged)}"]`)?.focus();
})();
