// Uses a page as a reader would, after its own script ran; what came of it goes into the page's title.
"use strict";
(() => {
addEventListener("error", event => { document.title = `PROBLEMS ${event.message} in line ${event.lineno}`; });
const problems = [];
let checks = 0;
const holds = (what, is) => { checks += 1; if (!is) problems.push(what); };
const near = (a, b) => Math.abs(a - b) < 0.01;
const pointer = (name, element, x, y) => element.dispatchEvent(new PointerEvent(name, { bubbles: true, clientX: x, clientY: y, pageX: x, pageY: y }));

const step = document.getElementById("step-depth"), folds = [...document.querySelectorAll("details")];
holds(`at most five screens of 800 until a fold is opened, not ${document.documentElement.scrollHeight}`, document.documentElement.scrollHeight <= 4000);
holds("all folds are closed at first", folds.length > 10 && folds.every(fold => !fold.open));
document.querySelector('nav a[href="#step-depth"]').click();
holds("a link opens the fold that it leads to, and no other", step.querySelector("details").open && folds.filter(fold => fold.open).length === 1);
folds.forEach(fold => { fold.open = true; });

const plots = JSON.parse(document.getElementById("data").textContent).plots, tip = document.getElementById("tip");
for (const figure of document.querySelectorAll("[data-plot]")) {
  const plot = plots[figure.dataset.plot], id = figure.dataset.plot, canvas = figure.querySelector(".canvas");
  const curves = () => canvas.querySelectorAll("g.series:not([hidden])").length, names = () => canvas.querySelectorAll(".direct:not([hidden])").length;
  holds(`${id}: as many curves as there are series`, curves() === plot.series.length);
  const key = figure.querySelector(".legend .key"), named = names();
  key.click();
  holds(`${id}: a series goes when its key is clicked`, curves() === plot.series.length - 1 && key.getAttribute("aria-pressed") === "false" && names() === Math.max(0, named - 1));
  key.click();
  holds(`${id}: and comes back`, curves() === plot.series.length && key.getAttribute("aria-pressed") === "true" && names() === named);
  const reset = figure.querySelector(".tool"), where = () => canvas.querySelector("g.series .line").getBoundingClientRect();
  const home = where(), same = () => near(where().width, home.width) && near(where().left, home.left);
  holds(`${id}: nothing to reset at first`, reset.hidden);
  canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "+" }));
  holds(`${id}: + enlarges`, !reset.hidden && !same());
  reset.click();
  holds(`${id}: reset shows all again`, reset.hidden && same());
  const box = canvas.getBoundingClientRect();
  canvas.dispatchEvent(new MouseEvent("dblclick", { clientX: box.left + box.width * 0.4, clientY: box.top + box.height * 0.5 }));
  holds(`${id}: a double click enlarges`, !reset.hidden && !same());
  canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
  holds(`${id}: Escape shows all again`, reset.hidden && same());
}
// A marker and the value that the script tells there belong together.
for (const marker of document.querySelectorAll("[data-plot] g.series .marker")) {
  const canvas = marker.closest(".canvas"), at = marker.getBoundingClientRect(), { x, series, label_spots: crossed } = plots[marker.closest("[data-plot]").dataset.plot];
  const index = [...canvas.querySelectorAll("g.series")].indexOf(marker.closest("g.series")), own = [...marker.parentElement.querySelectorAll(".marker")].indexOf(marker);
  pointer("pointermove", canvas, at.left + at.width / 2, at.top + at.height / 2);
  const wanted = String(series[index].spots[own][0]), told = tip.textContent.split(`${x.label}: `)[1];
  holds(`a marker of ${series[index].name} at ${wanted} tells ${told}`, !tip.hidden && (crossed || x.quantity !== "count" || told.startsWith(wanted)));
}
const canvas = document.querySelector(".canvas");
pointer("pointerleave", canvas, 0, 0);
holds("and is silent when the pointer leaves", tip.hidden);
const download = document.getElementById("download");
holds("the data can be kept", !download.hidden && download.href.startsWith("blob:"));

const flame = document.querySelector(".flame");
holds("there is a picture of calls", flame !== null);
const calls = [...flame.querySelectorAll(".calls > svg")], back = flame.querySelector(".back"), said = flame.querySelector(".said");
const width = call => parseFloat(call.getAttribute("width")), widths = calls.map(width);
const small = calls.find(call => width(call) < 60 && width(call) > 5);
const beside = calls.find(call => call.getAttribute("y") === small.getAttribute("y") && call !== small);
holds("nothing to go back to at first", back.hidden);
small.dispatchEvent(new MouseEvent("click", { bubbles: true }));
holds("what is clicked is as wide as the picture", near(width(small), 100) && near(parseFloat(small.getAttribute("x")), 0));
holds("what stands beside it goes", !beside || beside.style.display === "none");
holds("the way back is shown", !back.hidden);
back.click();
holds("the way back shows all again", back.hidden && calls.every((call, at) => near(width(call), widths[at]) && (widths[at] < 0.06 || call.style.display === "")));
pointer("pointerenter", small, 0, 0);
holds("a rectangle says what it is", said.textContent === small.querySelector("title").textContent && said.textContent.length > 0);

document.title = problems.length === 0 ? `all ${checks} hold` : `PROBLEMS ${problems.join("; ")}`;
})();
