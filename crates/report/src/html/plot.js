// Adds to the drawn figures what paper cannot do: values under the pointer, zoom, series on and off.
"use strict";
(() => {
const block = document.getElementById("data");
const data = JSON.parse(block.textContent);
const TOP = 30, BOTTOM = 258, LEFT = 64, CLOSEST = 40;
const place = { linear: v => v, log2: Math.log2, log10: Math.log10, nines: v => -Math.log10(1 - v / 100) };
const escape = text => String(text).replace(/[&<>"']/g, c => `&#${c.charCodeAt(0)};`);

// Numbers, as numbers.rs writes them.
const UNITS = {
  count: [[1e9, " G"], [1e6, " M"], [1e3, " k"], [1, ""]],
  nanos: [[1e9, " s"], [1e6, " ms"], [1e3, " µs"], [1, " ns"]],
  bytes: [[2 ** 40, " TiB"], [2 ** 30, " GiB"], [2 ** 20, " MiB"], [1024, " KiB"], [1, " B"]],
  bandwidth: [[1e9, " GB/s"], [1e6, " MB/s"], [1e3, " kB/s"], [1, " B/s"]],
};
const show = (v, quantity) => {
  if (quantity === "percentile") return String(Math.round(v * 1e5) / 1e5);
  const units = UNITS[quantity] || [[1, ""]], [factor, unit] = units.find(([f]) => Math.abs(v) >= f * 0.9995) || units.at(-1);
  return String(+(v / factor).toPrecision(3)) + unit;
};

const tip = Object.assign(document.createElement("div"), { id: "tip", hidden: true });
document.body.append(tip);
const tell = (plot, { series, spot: s }, event) => {
  const rows = [`${plot.y.label}: ${show(s[1], plot.y.quantity)}`];
  if (s[2] != null && s[3] != null) rows.push(`95 % interval ${show(s[2], plot.y.quantity)} to ${show(s[3], plot.y.quantity)}`);
  rows.push(`${plot.x.label}: ${show(s[0], plot.x.quantity)}${s[5] && plot.label_spots ? `, depth ${s[5]}` : ""}`);
  if (s[4]) rows.push(`n = ${s[4].toLocaleString("en").replaceAll(",", " ")} I/Os`);
  if (s[6]) rows.push("a caveat concerns this point, see the caption");
  tip.innerHTML = `<b>${escape(series.name)}</b>` + rows.map(escape).join("<br>");
  tip.hidden = false;
  const room = document.documentElement.clientWidth;
  tip.style.left = `${Math.max(4, Math.min(event.pageX + 14, room - tip.offsetWidth - 8))}px`; tip.style.top = `${event.pageY + 16}px`;
};

const adorn = figure => {
  const plot = data.plots[figure.dataset.plot], canvas = figure.querySelector(".canvas"), svg = canvas.firstChild, [right, ...frame] = plot.frame;
  const share = (axis, low, high, v) => (place[axis.scale](v) - place[axis.scale](low)) / (place[axis.scale](high) - place[axis.scale](low));
  const spots = plot.series.flatMap((series, index) => series.spots.filter(spot => spot[1] !== null).map(spot => {
    const up = share(plot.y, frame[2], frame[3], spot[1]);
    return { series, index, spot, x: LEFT + share(plot.x, frame[0], frame[1], spot[0]) * (right - LEFT), y: BOTTOM - (Number.isFinite(up) ? up : 0) * (BOTTOM - TOP) };
  }).filter(one => Number.isFinite(one.x)));
  // Names at the ends of the curves stand in the order of these.
  const named = [...svg.querySelectorAll(".direct")], last = index => spots.findLast(one => one.index === index);
  const ends = plot.series.map((series, index) => index).filter(index => plot.series[index].look !== "ideal" && last(index));
  ends.sort((a, b) => Math.min(BOTTOM, Math.max(TOP, last(a).y)) - Math.min(BOTTOM, Math.max(TOP, last(b).y)));
  const curves = [...svg.querySelectorAll("g.series")], shown = plot.series.map(() => true);
  for (const key of figure.querySelectorAll(".key")) key.addEventListener("click", () => {
    const index = Number(key.dataset.series), is = shown[index] = !shown[index];
    key.setAttribute("aria-pressed", String(is));
    curves[index].toggleAttribute("hidden", !is); named[ends.indexOf(index)]?.toggleAttribute("hidden", !is);
  });

  // Zoom moves and enlarges the curves inside their frame; what stands beside the frame moves along.
  const inner = document.createElementNS("http://www.w3.org/2000/svg", "g"), clipped = svg.querySelector("g[clip-path]");
  const beside = [...svg.querySelectorAll(".grid, .y, .tick, .x, .mark")].map(element => {
    const level = element.matches(".grid, .y"), [, x, y] = /M([\d.]+) ([\d.]+)/.exec(element.getAttribute("d") ?? element.firstChild.getAttribute?.("d")) ?? [];
    return { element, level, at: x === undefined ? (level ? element.getAttribute("y") - 4 : +element.getAttribute("x")) : +(level ? y : x) };
  });
  inner.append(...clipped.childNodes); clipped.append(inner);
  const reset = Object.assign(document.createElement("button"), { type: "button", className: "tool", textContent: "reset zoom" });
  const tools = Object.assign(document.createElement("div"), { className: "tools" });
  tools.append(reset); figure.prepend(tools); canvas.tabIndex = 0;
  let zoom, moved = null;
  const view = (k, x, y) => {
    const within = (shift, low, high) => Math.min(low - low * k, Math.max(high - high * k, shift));
    zoom = k > 1.01 ? { k, x: within(x, LEFT, right), y: within(y, TOP, BOTTOM) } : { k: 1, x: 0, y: 0 };
    inner.setAttribute("transform", `translate(${zoom.x} ${zoom.y}) scale(${zoom.k})`);
    svg.style.setProperty("--zoom", zoom.k); svg.classList.toggle("zoomed", zoom.k > 1); reset.hidden = zoom.k === 1;
    for (const { element, level, at } of beside) {
      const now = at * zoom.k + (level ? zoom.y : zoom.x);
      element.setAttribute("transform", level ? `translate(0 ${now - at})` : `translate(${now - at} 0)`);
      element.toggleAttribute("hidden", level ? now < TOP - 7 || now > BOTTOM + 1 : now < LEFT - 1 || now > right + 1);
    }
  };
  const around = ([x, y], factor) => view(zoom.k * factor, x - (x - zoom.x) * factor, y - (y - zoom.y) * factor);
  const all = () => view(1, 0, 0), middle = [(LEFT + right) / 2, (TOP + BOTTOM) / 2];
  const at = event => { const p = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse()); return [p.x, p.y]; };
  const hover = event => {
    const [x, y] = at(event), far = one => Math.hypot(one.x * zoom.k + zoom.x - x, one.y * zoom.k + zoom.y - y);
    const near = spots.filter(one => shown[one.index] && far(one) < CLOSEST).sort((a, b) => far(a) - far(b))[0];
    if (near) tell(plot, near, event); else tip.hidden = true;
  };
  const on = (name, act) => canvas.addEventListener(name, act, { passive: false });
  on("pointermove", event => {
    if (!moved) return hover(event);
    const now = at(event);
    view(zoom.k, zoom.x + now[0] - moved[0], zoom.y + now[1] - moved[1]);
    moved = now;
  });
  on("pointerleave", () => { tip.hidden = true; });
  on("pointerdown", event => { if (zoom.k > 1 && event.button === 0) { moved = at(event); canvas.setPointerCapture(event.pointerId); } });
  for (const end of ["pointerup", "pointercancel"]) on(end, () => { moved = null; });
  on("dblclick", event => around(at(event), 2));
  // A wheel over a figure that was not clicked scrolls the page, as everywhere.
  on("wheel", event => {
    if (!(event.ctrlKey || event.metaKey || document.activeElement === canvas)) return;
    event.preventDefault();
    around(at(event), event.deltaY > 0 ? 0.8 : 1.25);
  });
  on("keydown", event => {
    if (event.key === "+" || event.key === "-") around(middle, event.key === "+" ? 1.25 : 0.8);
    if (event.key === "0" || event.key === "Escape") all();
  });
  reset.addEventListener("click", all);
  all();
};
for (const figure of document.querySelectorAll("[data-plot]")) adorn(figure);

// A fold opens for who is sent to what it holds, and for paper.
const reveal = hash => {
  const wanted = document.getElementById(hash.slice(1));
  wanted?.querySelector(":scope > details")?.setAttribute("open", "");
  for (let element = wanted; element; element = element.parentElement) if (element.tagName === "DETAILS") element.open = true;
};
document.addEventListener("click", event => { const link = event.target.closest?.('a[href^="#"]'); if (link) reveal(link.hash); });
addEventListener("hashchange", () => reveal(location.hash));
reveal(location.hash);
const download = document.getElementById("download");
download.href = URL.createObjectURL(new Blob([block.textContent], { type: "application/json" }));
download.download = "iostack.json"; download.hidden = false;
})();
