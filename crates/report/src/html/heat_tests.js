// Points at every cell of the heat maps of a page; what came of it goes into the page's title.
"use strict";
(() => {
addEventListener("error", event => { document.title = `PROBLEMS ${event.message} in line ${event.lineno}`; });
const problems = [], tip = document.getElementById("tip");
let checks = 0;
const holds = (what, is) => { checks += 1; if (!is) problems.push(what); };
const heat = JSON.parse(document.getElementById("data").textContent).heat, figures = document.querySelectorAll("[data-heat]");
holds("every map has a figure", figures.length === Object.keys(heat).length && figures.length > 0);
for (const figure of figures) {
  const { edges, columns } = heat[figure.dataset.heat], rows = edges.length - 1, cells = figure.querySelector(".cells");
  const box = cells.getBoundingClientRect();
  columns.forEach(([first, ...counts], column) => {
    for (let row = 0; row < rows; row++) {
      const x = box.left + (column + 0.5) / columns.length * box.width, y = box.bottom - (row + 0.5) / rows * box.height;
      cells.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: y }));
      const ios = row < first ? 0 : counts[row - first] ?? 0;
      const told = Number(/([0-9\s]+) I\/Os/u.exec(tip.innerHTML.replace(/.*<\/b>/u, ""))?.[1].replace(/\s/gu, ""));
      holds(`${figure.dataset.heat}: ${ios} I/Os in column ${column}, row ${row}, not ${told}`, told === ios && !tip.hidden);
      // What is painted there says how many, too.
      const spot = Object.assign(cells.createSVGPoint(), { x: column + 0.5, y: rows - row - 0.5 });
      const painted = [...cells.querySelectorAll("path:not(.grid)")].filter(path => path.isPointInFill(spot)).length;
      holds(`${figure.dataset.heat}: column ${column}, row ${row} is painted ${painted} times`, painted === (ios > 0 ? 1 : 0));
    }
  });
  cells.dispatchEvent(new PointerEvent("pointerleave"));
  holds("and is silent when the pointer leaves", tip.hidden);
}
document.title = problems.length === 0 ? `all ${checks} hold` : `PROBLEMS ${problems.slice(0, 5).join("; ")}`;
})();
