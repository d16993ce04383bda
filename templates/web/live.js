// Shows the trial of a query while it is typed. Without this script the button does the same.
"use strict";
(() => {
  const box = document.querySelector("[data-live]");
  const zone = document.querySelector("[data-guess]");
  if (zone && zone.value === zone.defaultValue) {
    zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone || zone.value;
  }
  if (!box) return;
  const parts = ["said", "shown"].map((id) => document.getElementById(id));
  const copy = document.getElementById("query");
  const typed = document.querySelector("[data-typed]");
  let asked = box.value.trim();
  let timer, request;

  const later = (wait) => {
    clearTimeout(timer);
    timer = setTimeout(show, wait);
  };

  async function show() {
    if (request) request.abort();
    request = new AbortController();
    const url = new URL(box.dataset.live, location.href);
    url.searchParams.set("q", asked);
    if (box.dataset.was) url.searchParams.set("was", box.dataset.was);
    try {
      const answer = await fetch(url, { signal: request.signal });
      if (!answer.ok) return later(5000);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const brings = "brings" in page.getElementById("said").dataset;
      if (copy) copy.value = brings ? asked : "";
      if (typed) typed.hidden = !brings;
      for (const part of parts) {
        const found = page.getElementById(part.id);
        part.replaceChildren(...found.childNodes);
        if ("wait" in found.dataset) later(1000);
      }
    } catch (error) {
      if (error.name !== "AbortError") later(5000);
    }
  }

  box.addEventListener("input", () => {
    const text = box.value.trim();
    if (text === asked) return;
    asked = text;
    if (copy) copy.value = text;
    history.replaceState(null, "", text ? `?q=${encodeURIComponent(text)}` : location.pathname);
    later(250);
  });
  if ("wait" in parts[0].dataset) later(1000);
})();
