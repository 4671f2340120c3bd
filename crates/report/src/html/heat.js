// Tells what a cell of a heat map counted. The picture itself needs no script.
"use strict";
(() => {
const heat = JSON.parse(document.getElementById("data").textContent).heat;
const tip = document.getElementById("tip");
const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
const time = ns => {
  const [factor, unit] = UNITS.find(([factor]) => ns >= factor) || UNITS[3];
  return `${+(ns / factor).toPrecision(3)} ${unit}`;
};
const grouped = count => count.toLocaleString("en").replaceAll(",", " ");
for (const figure of document.querySelectorAll("[data-heat]")) {
  const { length, edges, columns } = heat[figure.dataset.heat], cells = figure.querySelector(".cells"), rows = edges.length - 1;
  cells.addEventListener("pointermove", event => {
    const box = cells.getBoundingClientRect(), within = (share, many) => Math.min(many - 1, Math.max(0, Math.floor(share * many)));
    const column = within((event.clientX - box.left) / box.width, columns.length), row = within((box.bottom - event.clientY) / box.height, rows);
    const [first, ...counts] = columns[column], ios = counts[row - first] ?? 0, all = counts.reduce((sum, count) => sum + count, 0);
    const seconds = index => +(index * length).toPrecision(4), share = all > 0 ? `, ${+(ios / all * 100).toPrecision(3)} % of this time's` : "";
    tip.innerHTML = `<b>${time(edges[row])} to ${time(edges[row + 1])}</b>${grouped(ios)} I/Os${share}<br>${seconds(column)} to ${seconds(column + 1)} s`;
    tip.hidden = false;
    const room = document.documentElement.clientWidth;
    tip.style.left = `${Math.max(4, Math.min(event.pageX + 14, room - tip.offsetWidth - 8))}px`; tip.style.top = `${event.pageY + 16}px`;
  });
  cells.addEventListener("pointerleave", () => { tip.hidden = true; });
}
})();
