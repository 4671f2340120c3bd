// Uses a page as a reader would, after its own script ran; what came of it goes into the page's title.
"use strict";
(() => {
addEventListener("error", event => { document.title = `PROBLEMS ${event.message} in line ${event.lineno}`; });
const problems = [];
let checks = 0;
const holds = (what, is) => { checks += 1; if (!is) problems.push(what); };
const near = (a, b) => Math.abs(a - b) < 0.01;
const pointer = (name, element, x, y) => element.dispatchEvent(new PointerEvent(name, { bubbles: true, clientX: x, clientY: y, pageX: x, pageY: y }));

const plots = JSON.parse(document.getElementById("data").textContent).plots;
const drawn = window.drawnWithoutScript;
for (const figure of document.querySelectorAll("[data-plot]")) {
  const plot = plots[figure.dataset.plot], id = figure.dataset.plot, canvas = figure.querySelector(".canvas");
  const curves = () => canvas.querySelectorAll("g.series").length;
  holds(`${id}: as many curves as there are series`, curves() === plot.series.length);
  holds(`${id}: as many curves as on paper`, curves() === drawn[id].series);
  holds(`${id}: as many markers as on paper`, canvas.querySelectorAll(".marker").length === drawn[id].markers);
  const keys = figure.querySelectorAll(".legend .key");
  if (keys.length > 0) {
    keys[0].click();
    holds(`${id}: a series goes when its key is clicked`, curves() === plot.series.length - 1 && keys[0].getAttribute("aria-pressed") === "false");
    keys[0].click();
    holds(`${id}: and comes back`, curves() === plot.series.length && keys[0].getAttribute("aria-pressed") === "true");
  }
  for (const tool of figure.querySelectorAll(".tool[data-axis]")) {
    const logs = () => [...canvas.querySelectorAll(".name")].filter(name => name.textContent.includes("log scale")).length;
    const before = logs(), was = tool.getAttribute("aria-pressed");
    tool.click();
    holds(`${id}: ${tool.textContent} changes the scale`, Math.abs(logs() - before) === 1 && tool.getAttribute("aria-pressed") !== was);
    tool.click();
    holds(`${id}: ${tool.textContent} changes it back`, logs() === before && tool.getAttribute("aria-pressed") === was);
  }
  const reset = [...figure.querySelectorAll(".tool")].find(tool => tool.textContent === "reset zoom");
  const first = () => canvas.querySelector("g.series .line").getAttribute("d");
  const home = first(), box = canvas.getBoundingClientRect();
  holds(`${id}: nothing to reset at first`, reset.hidden);
  canvas.focus();
  canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "+" }));
  holds(`${id}: + enlarges`, !reset.hidden && first() !== home);
  reset.click();
  holds(`${id}: reset shows all again`, reset.hidden && first() === home);
  // The middle half of the figure, dragged over.
  canvas.setPointerCapture = () => {};
  pointer("pointerdown", canvas, box.left + box.width * 0.3, box.top + box.height * 0.3);
  pointer("pointerup", canvas, box.left + box.width * 0.6, box.top + box.height * 0.6);
  holds(`${id}: what is dragged over is enlarged`, !reset.hidden && first() !== home);
  canvas.dispatchEvent(new MouseEvent("dblclick"));
  holds(`${id}: a double click shows all again`, reset.hidden && first() === home);
}
const spot = document.querySelector("[data-plot] .canvas .marker");
const at = spot.getBoundingClientRect(), canvas = spot.closest(".canvas"), tip = document.getElementById("tip");
pointer("pointermove", canvas, at.left + at.width / 2, at.top + at.height / 2);
holds("a point tells its series and value", !tip.hidden && tip.querySelector("b").textContent.length > 0 && /: [0-9]/.test(tip.textContent));
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
