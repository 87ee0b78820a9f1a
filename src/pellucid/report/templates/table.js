"use strict";
(() => {
  const status = document.getElementById("swarm-status");
  if (!status) return;
  const hint = status.textContent;
  let now = null;

  function show(dot) {
    if (now) now.classList.remove("now");
    now = dot;
    if (!dot) { status.textContent = hint; return; }
    dot.classList.add("now");
    status.textContent = dot.dataset.text;
  }

  for (const swarm of document.querySelectorAll("g.swarm")) {
    // In the order of their contributions, so that the arrow keys go from left to right.
    const dots = [...swarm.querySelectorAll("circle")].sort((a, b) => a.cx.baseVal.value - b.cx.baseVal.value);
    swarm.addEventListener("mouseover", (event) => { if (event.target.tagName === "circle") show(event.target); });
    swarm.addEventListener("focus", () => { if (!dots.includes(now)) show(dots[0]); });
    swarm.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      show(dots[Math.min(dots.length - 1, Math.max(0, dots.indexOf(now) + step))]);
    });
  }
})();
