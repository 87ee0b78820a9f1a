"use strict";
(() => {
  const numbers = JSON.parse(document.getElementById("numbers").textContent); // names, values and distances by chart
  const slider = document.getElementById("recording"), name = document.getElementById("name");
  const charts = [...document.querySelectorAll("[data-chart]")];
  const text = (value) => value === null ? "–" : String(value).replace("-", "−");

  function show() {
    const place = Number(slider.value) - 1;
    name.textContent = `${place + 1} of ${numbers.names.length}: ${numbers.names[place]}`;
    for (const chart of charts) {
      const cursor = chart.querySelector(".cursor"), left = Number(cursor.dataset.left), right = Number(cursor.dataset.right);
      const x = left + (place / Math.max(1, numbers.names.length - 1)) * (right - left);
      cursor.removeAttribute("hidden");
      cursor.setAttribute("transform", `translate(${x.toFixed(1)} 0)`);
      const value = numbers.values[chart.dataset.chart][place], distance = numbers.distances[chart.dataset.chart][place];
      chart.querySelector(".value").textContent = `${text(value)} (${text(distance)} sd)`;
    }
  }

  slider.addEventListener("input", show);
  for (const chart of charts) {
    chart.querySelector("svg").addEventListener("click", (event) => {
      const box = event.currentTarget.getBoundingClientRect(), scale = event.currentTarget.viewBox.baseVal.width / box.width;
      const { left, right } = chart.querySelector(".cursor").dataset;
      const share = ((event.clientX - box.left) * scale - left) / (right - left);
      slider.value = 1 + Math.round(Math.min(1, Math.max(0, share)) * (numbers.names.length - 1));
      show();
    });
  }
  show();
})();
