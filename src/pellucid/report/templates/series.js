"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const channel = byId("channel"), which = byId("which"), count = byId("count");
  const all = [...document.querySelectorAll(".item")];
  if (!all.length) return;
  const laws = JSON.parse(byId("laws").textContent); // [forecast][channel][step]

  function law(article) {
    const step = Number(article.querySelector("input").value);
    for (const panel of article.querySelectorAll(".panel")) {
      panel.querySelector(".step").textContent = step;
      panel.querySelector("code").textContent = laws[article.dataset.item][panel.dataset.channel][step - 1];
      const column = panel.querySelector(".column");
      column.removeAttribute("hidden");
      const width = Number(column.getAttribute("width"));
      column.setAttribute("x", Number(column.dataset.left) + (step - 1) * width);
    }
  }

  function show() {
    let shown = 0;
    for (const article of all) {
      article.hidden = which && which.value !== "all" && article.dataset.rank !== which.value;
      if (!article.hidden) shown += 1;
      for (const panel of article.querySelectorAll(".panel")) {
        panel.hidden = channel !== null && panel.dataset.channel !== channel.value; // alone on a page: all of them
      }
    }
    if (count) count.textContent = `${shown} of ${all.length} shown`;
  }

  if (channel) channel.addEventListener("change", show);
  if (which) which.addEventListener("change", show);
  for (const article of all) {
    article.querySelector("input").addEventListener("input", () => law(article));
    law(article);
  }
  show();
})();
