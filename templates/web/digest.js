// Filters the papers of a digest by words, and moves among them by keys. Without this script all is there, too.
"use strict";
(() => {
  const papers = [...document.querySelectorAll(".paper")];
  const form = document.querySelector(".filter");
{% include "web/fold.js" %}

  const findDetails = (paper) => (paper.matches("details") ? paper : paper.querySelector(".whole"));
  let clear = () => {};

  document.documentElement.className = "scripted"; // the style unfolds the paper of a link only without it

  if (form) {
    const [box, button] = form.elements;
    const status = form.querySelector("[role=status]");
    let texts;

    const read = (paper) => {
      const nodes = document.createTreeWalker(paper, NodeFilter.SHOW_TEXT);
      let text = "";
      while (nodes.nextNode()) {
        if (!nodes.currentNode.parentElement.closest(".meta a, .whole > summary")) text += nodes.currentNode.data;
      }
      return fold(text);
    };

    const filter = () => {
      texts ??= papers.map(read);
      const words = fold(box.value).split(/\s+/).filter(Boolean);
      papers.forEach((paper, at) => {
        paper.hidden = !words.every((word) => texts[at].includes(word));
      });
      let found = 0;
      for (const section of document.querySelectorAll("section")) {
        const all = section.querySelectorAll(".paper").length;
        const left = section.querySelectorAll(".paper:not([hidden])").length;
        section.hidden = !left;
        section.querySelector("h2 span").textContent = left < all ? `${left} of ${all}` : all;
        found += left;
      }
      const some = `${found} of ${papers.length}${found ? "" : ". No paper has all these words."}`;
      status.textContent = words.length ? some : "";
      button.hidden = !words.length;
    };

    clear = () => {
      if (!box.value) return;
      box.value = "";
      filter();
    };
    form.hidden = false;
    box.addEventListener("input", filter);
    button.addEventListener("click", () => {
      clear();
      box.focus();
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      move(1);
    });
    if (box.value) filter(); // a browser that comes back to the page may have kept what was typed
  }

  function unfold(paper, isOpen) {
    findDetails(paper).open = isOpen;
    paper.scrollIntoView({ block: "nearest" });
  }

  function move(step) {
    const shown = papers.filter((paper) => !paper.hidden);
    let at = shown.indexOf(document.activeElement.closest(".paper"));
    if (at < 0) {
      at = shown.findIndex((paper) => paper.getBoundingClientRect().bottom > 0);
      if (at < 0) at = shown.length;
      if (step > 0) at -= 1;
    }
    const next = shown[at + step];
    if (!next) return;
    findDetails(next).querySelector("summary").focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.key === "Escape") return clear();
    if (event.target.matches("input, textarea, select")) return;
    const paper = document.activeElement.closest(".paper");
    if (event.key === "/" && form) form.elements[0].focus();
    else if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
    else if (paper && event.key === "o") unfold(paper, !findDetails(paper).open);
    else return;
    event.preventDefault();
  });

  const arrive = () => {
    const paper = document.getElementById(location.hash.slice(1));
    if (!paper || !papers.includes(paper)) return;
    if (paper.hidden) clear();
    findDetails(paper).open = true;
    paper.scrollIntoView();
  };
  addEventListener("hashchange", arrive);
  arrive();
})();
