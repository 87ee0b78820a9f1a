"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const cards = byId("cards");
  if (!cards) return;
  const all = [...cards.children];
  const search = byId("search"), sort = byId("sort"), target = byId("target"), count = byId("count");

  // One number for every target; "-" where there is none.
  const value = (card, name, k) => {
    const text = (card.dataset[name] || "").split(" ")[k];
    return text === undefined || text === "-" || text === "" ? null : Number(text);
  };

  function show() {
    const words = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const card of all) {
      const text = card.dataset.text.toLowerCase();
      card.hidden = !words.every((word) => text.includes(word));
      if (!card.hidden) shown += 1;
    }
    count.textContent = `${shown} of ${all.length} shown`;
  }

  function order() {
    const [name, direction] = sort.value.split(" ");
    const k = target ? Number(target.value) : 0;
    const sign = direction === "asc" ? 1 : -1;
    const places = new Map(all.map((card, i) => [card, i]));
    const sorted = [...all].sort((a, b) => {
      const x = value(a, name, k), y = value(b, name, k);
      if (x === null || y === null) return (x === null) - (y === null) || places.get(a) - places.get(b);
      return sign * (x - y) || places.get(a) - places.get(b);
    });
    cards.append(...sorted);
  }

  function retarget() {
    const k = Number(target.value);
    for (const row of document.querySelectorAll(".card dl div")) {
      [...row.querySelectorAll("dd")].forEach((cell, i) => { cell.hidden = i !== k; });
    }
    order();
  }

  search.addEventListener("input", show);
  search.form.addEventListener("submit", (event) => event.preventDefault());
  sort.addEventListener("change", order);
  if (target) target.addEventListener("change", retarget);

  for (const button of document.querySelectorAll(".open")) {
    const dialog = byId(button.getAttribute("aria-controls"));
    button.addEventListener("click", () => {
      dialog.showModal();
      dialog.scrollTop = 0;
      // Chromium gives the focus back by itself, others not always.
      dialog.addEventListener("close", () => button.focus(), { once: true });
    });
  }
  for (const dialog of document.querySelectorAll("dialog")) {
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) dialog.close();
    });
  }

  order();
  show();
})();
