// Finds papers in all digests of a site by words of their titles. Without this script the digests are there, too.
"use strict";
(() => {
{% include "web/fold.js" %}

  const most = 100;
  const form = document.querySelector(".filter");
  const [box, button] = form.elements;
  const status = form.querySelector("[role=status]");
  const list = document.querySelector("#found");
  const digests = document.querySelector("#digests");
  let papers;

  const load = () => {
    if (papers) return;
    papers = [];
    const script = document.createElement("script");
    script.src = "titles.js";
    script.addEventListener("load", () => {
      papers = globalThis.digestTitles.flatMap(([url, day, titles]) =>
        titles.map((title, at) => ({ title, day, url: `${url}#paper-${at + 1}`, text: fold(title) })),
      );
      filter();
    });
    script.addEventListener("error", () => {
      status.textContent = "The titles can’t be read. Load the page again.";
    });
    document.head.append(script);
  };

  const show = ({ title, day, url }) => {
    const [item, link, said] = ["li", "a", "p"].map((name) => document.createElement(name));
    item.className = "found";
    link.href = url;
    link.dir = "auto";
    link.textContent = title;
    said.className = "meta";
    said.textContent = day;
    item.append(link, said);
    return item;
  };

  const filter = () => {
    const words = fold(box.value).split(/\s+/).filter(Boolean);
    button.hidden = list.hidden = !words.length;
    digests.hidden = Boolean(words.length);
    if (!words.length || !papers?.length) return (status.textContent = "");
    const found = papers.filter(({ text }) => words.every((word) => text.includes(word)));
    const first = found.length > most ? `, the newest ${most} are shown` : "";
    const count = `${found.length.toLocaleString("en")} ${found.length === 1 ? "paper" : "papers"}`;
    status.textContent = found.length ? count + first : "No title has all these words.";
    list.replaceChildren(...found.slice(0, most).map(show));
  };

  const clear = () => {
    box.value = "";
    filter();
  };

  form.hidden = false;
  box.addEventListener("focus", load);
  box.addEventListener("input", () => {
    load();
    filter();
  });
  button.addEventListener("click", () => {
    clear();
    box.focus();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    list.querySelector("a")?.focus();
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.key === "Escape") return clear();
    if (event.key !== "/" || event.target === box) return;
    box.focus();
    event.preventDefault();
  });
  if (box.value) load(); // a browser that comes back to the page may have kept what was typed
})();
