// Adds to the drawn figures what paper cannot do: values under the pointer, zoom, other scales, series on and off.
// It draws from the numbers in #data exactly as svg.rs does. Start reading at `render`.
"use strict";
(() => {
const block = document.getElementById("data");
const data = JSON.parse(block.textContent);
const TOP = 30, BOTTOM = 258, LEFT = 64, HEIGHT = 300, LETTER = 7, LETTERS = 20, LINE = 13;
const place = { linear: v => v, log2: Math.log2, log10: Math.log10, nines: v => -Math.log10(1 - v / 100) };
const back = { linear: p => p, log2: p => 2 ** p, log10: p => 10 ** p, nines: p => 100 * (1 - 10 ** -p) };
const isLog = scale => scale === "log2" || scale === "log10";
const escape = text => String(text).replace(/[&<>"']/g, c => `&#${c.charCodeAt(0)};`);

// Numbers, as numbers.rs writes them.
const significant = v => {
  if (v === 0) return "0";
  const decimals = Math.min(9, Math.max(0, 2 - Math.floor(Math.log10(Math.abs(v)))));
  const text = v.toFixed(decimals);
  return text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
};
const UNITS = {
  count: [[1e9, " G"], [1e6, " M"], [1e3, " k"], [1, ""]],
  nanos: [[1e9, " s"], [1e6, " ms"], [1e3, " µs"], [1, " ns"]],
  bytes: [[2 ** 40, " TiB"], [2 ** 30, " GiB"], [2 ** 20, " MiB"], [1024, " KiB"], [1, " B"]],
  bandwidth: [[1e9, " GB/s"], [1e6, " MB/s"], [1e3, " kB/s"], [1, " B/s"]],
};
const show = (v, quantity) => {
  if (v === null || !Number.isFinite(v)) return "–";
  if (quantity === "percentile") return String(Math.round(v * 1e5) / 1e5);
  const units = UNITS[quantity];
  if (!units) return significant(v);
  const [factor, unit] = units.find(([f]) => Math.abs(v) >= f * 0.9995) || units[units.length - 1];
  return significant(v / factor) + unit;
};
// Ticks, as scale.rs chooses them.
const linearTicks = (low, high, wanted) => {
  if (!(high > low)) return [low];
  const rough = (high - low) / Math.max(1, wanted), power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 2.5, 5, 10].find(f => f * power >= rough) || 10) * power, out = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9 && out.length < 21; i++) out.push(i * step);
  return out;
};
const powers = (base, low, high, wanted) => {
  const first = Math.ceil(Math.log(low) / Math.log(base) - 1e-9), last = Math.floor(Math.log(high) / Math.log(base) + 1e-9);
  const stride = Math.floor((last - first) / Math.max(1, wanted)) + 1, out = [];
  for (let p = first; p <= last; p++) if (((p % stride) + stride) % stride === 0) out.push(base ** p);
  return out;
};
const ticks = (scale, low, high, wanted) => {
  const inside = v => v >= low * (1 - 1e-9) && v <= high * (1 + 1e-9);
  if (scale === "linear") return linearTicks(low, high, wanted);
  if (scale === "nines") return [0, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999].filter(inside);
  if (scale === "log2") return high / low < 2 ? linearTicks(low, high, wanted) : powers(2, low, high, wanted);
  const decades = Math.log10(high / low);
  if (decades < 0.8) return linearTicks(low, high, wanted);
  if (decades > 2.6) return powers(10, low, high, wanted);
  return powers(10, low / 10, high, 99).flatMap(p => [p, 2 * p, 5 * p]).filter(inside);
};

// The positions (not values) between which everything visible lies.
const span = (scale, values, air, fromZero) => {
  const fine = values.filter(v => v !== null && Number.isFinite(place[scale](v)));
  let low = Math.min(...fine), high = Math.max(...fine);
  if (!fine.length) [low, high] = isLog(scale) ? [1, 10] : [0, 1];
  if (isLog(scale)) {
    if (high / low < 2) [low, high] = [low / 1.5, high * 1.5];
    const factor = (high / low) ** air;
    return [place[scale](low / factor), place[scale](high * factor)];
  }
  if (fromZero && scale === "linear") low = Math.min(0, low);
  if (!(high > low)) high = low + Math.max(1, Math.abs(low));
  return [place[scale](low), place[scale](high + (high - low) * air)];
};
const marker = (slot, x, y) => {
  const polygon = points => "M" + points.map(([a, b]) => `${(x + a).toFixed(1)} ${(y + b).toFixed(1)}`).join("L") + "Z";
  return [
    () => `M${(x - 3.6).toFixed(1)} ${y.toFixed(1)}a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0Z`,
    () => polygon([[-3.3, -3.3], [3.3, -3.3], [3.3, 3.3], [-3.3, 3.3]]),
    () => polygon([[0, -4.4], [4.2, 3.2], [-4.2, 3.2]]),
    () => polygon([[0, -4.6], [4.6, 0], [0, 4.6], [-4.6, 0]]),
    () => polygon([[0, 4.4], [4.2, -3.2], [-4.2, -3.2]]),
    () => polygon([[-4.4, -1.6], [4.4, -1.6], [4.4, 1.6], [-4.4, 1.6]]),
    () => polygon([[-1.6, -4.4], [1.6, -4.4], [1.6, 4.4], [-1.6, 4.4]]),
    () => polygon([[-4, -4], [0, -1.4], [4, -4], [1.4, 0], [4, 4], [0, 1.4], [-4, 4], [-1.4, 0]]),
  ][Math.min(slot, 7)]();
};

class Figure {
  constructor(element, plot) {
    this.element = element; this.plot = plot; this.hidden = new Set();
    this.canvas = element.querySelector(".canvas"); this.legend = element.querySelector(".legend");
    this.canvas.tabIndex = 0; this.wide = element.classList.contains("wide"); this.zoom = null; this.scale = { x: plot.x.scale, y: plot.y.scale };
    for (const key of this.legend.querySelectorAll(".key")) key.addEventListener("click", () => this.toggle(key));
    this.bar = document.createElement("div"); this.bar.className = "tools"; element.prepend(this.bar);
    this.tools = ["x", "y"].filter(axis => this.switchable(axis)).map(axis => this.tool(`log ${axis}`, () => this.flip(axis), axis));
    this.reset = this.tool("reset zoom", () => { this.zoom = null; this.render(); });
    this.listen();
    this.render();
  }
  switchable(axis) {
    if (this.scale[axis] === "nines") return false;
    const at = axis === "x" ? 0 : 1;
    return this.plot.series.some(s => s.spots.some(spot => spot[at] > 0));
  }
  tool(text, act, axis) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "tool", textContent: text });
    button.addEventListener("click", act);
    if (axis) { button.dataset.axis = axis; button.setAttribute("aria-pressed", String(isLog(this.scale[axis]))); }
    this.bar.append(button);
    return button;
  }
  toggle(key) {
    const index = Number(key.dataset.series);
    if (!this.hidden.delete(index)) this.hidden.add(index);
    key.setAttribute("aria-pressed", String(!this.hidden.has(index)));
    this.render();
  }
  flip(axis) {
    const asked = this.plot[axis].scale, log = isLog(asked) ? asked : "log10";
    this.scale[axis] = isLog(this.scale[axis]) ? "linear" : log;
    this.zoom = null;
    for (const tool of this.tools) tool.setAttribute("aria-pressed", String(isLog(this.scale[tool.dataset.axis])));
    this.render();
  }
  series() { return this.plot.series.filter((_, index) => !this.hidden.has(index)); }
  measure() {
    const { plot, scale } = this, shown = this.series(), spots = shown.filter(s => s.look !== "ideal").flatMap(s => s.spots);
    this.width = Math.max(280, Math.round(this.canvas.clientWidth || 560));
    const direct = this.direct = this.width > 440 && (plot.series.length > 1 || this.wide) && plot.series.length <= 8 && !plot.label_spots
      && plot.series.every(s => s.look !== "area");
    const named = plot.series.filter(s => s.look !== "ideal");
    const letters = direct ? Math.max(this.wide ? 6 : 0, ...named.map(s => Math.min(LETTERS, s.name.length))) : 0;
    this.right = this.width - 14 - letters * LETTER;
    const most = Math.max(0, ...spots.map(s => s[1] ?? 0));
    const heights = spots.flatMap(s => [s[1], Math.max(s[2] ?? s[1], s[1] / 10), Math.min(s[3] ?? s[1], 2 * most)]);
    this.home = { x: span(scale.x, spots.map(s => s[0]), plot.label_spots ? 0.05 : scale.x === "log2" ? 0.02 : 0, true), y: span(scale.y, heights, 0.05, true) };
    this.view = this.zoom || this.home;
  }
  x(v) {
    const p = place[this.scale.x](v), [low, high] = this.view.x;
    return Number.isFinite(p) && v !== null ? LEFT + (p - low) / (high - low) * (this.right - LEFT) : null;
  }
  y(v) {
    if (v === null) return null;
    const p = place[this.scale.y](v), [low, high] = this.view.y, share = Number.isFinite(p) ? (p - low) / (high - low) : 0;
    return BOTTOM - Math.min(3, Math.max(-3, share)) * (BOTTOM - TOP);
  }
  render() {
    this.measure();
    const { plot, right, width } = this, clip = `clip-js-${this.element.id}`, f = v => v.toFixed(1);
    const edge = axis => this.view[axis].map(back[this.scale[axis]]);
    let out = `<svg viewBox="0 0 ${width} ${HEIGHT}" role="img" aria-label="${escape(plot.heading)}"><clipPath id="${clip}"><rect x="${LEFT}" y="${TOP - 6}" width="${f(Math.max(1, right - LEFT))}" height="${BOTTOM - TOP + 6}"/></clipPath><g class="axes">`;
    for (const tick of ticks(this.scale.y, ...edge("y"), 6)) {
      const y = f(this.y(tick));
      out += `<path class="grid" d="M${LEFT} ${y}H${f(right)}"/><text x="${LEFT - 7}" y="${f(+y + 4)}" class="y">${show(tick, plot.y.quantity)}</text>`;
    }
    for (const tick of ticks(this.scale.x, ...edge("x"), Math.floor((right - LEFT) / 56))) {
      const x = this.x(tick), text = show(tick, plot.x.quantity), textX = Math.min(x, width - 2 - text.length * LETTER / 2);
      out += `<path class="tick" d="M${f(x)} ${BOTTOM}v5"/><text x="${f(textX)}" y="${BOTTOM + 18}" class="x">${text}</text>`;
    }
    const name = axis => escape(plot[axis].label) + (isLog(this.scale[axis]) ? " · log scale" : this.scale[axis] === "nines" && width > 440 ? " · each step is ten times rarer" : "");
    out += `<path class="base" d="M${LEFT} ${BOTTOM}H${f(right)}"/><text x="4" y="14" class="name">${name("y")}</text><text x="${f(right)}" y="${BOTTOM + 36}" class="name end">${name("x")}</text></g>`;
    out += plot.marks.map((mark, i) => this.mark(mark, i)).join("");
    out += `<g clip-path="url(#${clip})">` + this.series().map(s => this.curve(s)).join("") + "</g>";
    out += plot.label_spots ? this.spotLabels() : this.direct ? this.endLabels() : "";
    this.canvas.innerHTML = out + "</svg>";
    this.reset.hidden = !this.zoom;
  }
  mark([value, label, slot, leftward], index) {
    const x = this.x(value);
    if (x === null || x < LEFT || x > this.right) return "";
    const short = this.width > 440 ? label : label.split(":")[0], room = short.length * LETTER, left = leftward ? x - LEFT > room : this.right - x < room;
    return `<g class="mark${slot === null ? "" : ` s${slot}`}"><path d="M${x.toFixed(1)} ${TOP}V${BOTTOM}"/><text x="${(x + (left ? -5 : 5)).toFixed(1)}" y="${TOP + 8 + index % 4 * LINE}" class="label${left ? " end" : ""}">${escape(short)}</text></g>`;
  }
  points(series) { return series.spots.map(s => [this.x(s[0]), this.y(s[1]), s]).filter(p => p[0] !== null && p[1] !== null); }
  curve(series) {
    const at = (a, b) => `${a.toFixed(1)} ${b.toFixed(1)}`;
    let line = "", last = null, first = null, run = [], bands = "", markers = "";
    const flush = () => {
      if (run.length === 1) bands += `<path class="whisker" d="M${at(run[0][0], run[0][1])}V${run[0][2].toFixed(1)}"/>`;
      if (run.length > 1) bands += `<path class="band" d="M${[...run.map(r => at(r[0], r[2])), ...run.slice().reverse().map(r => at(r[0], r[1]))].join("L")}Z"/>`;
      run = [];
    };
    for (const s of series.spots) {
      const x = this.x(s[0]), y = this.y(s[1]);
      if (x !== null && s[2] != null && s[3] != null) run.push([x, this.y(s[2]), this.y(s[3])]); else flush();
      if (x === null || y === null) { last = null; continue; }
      line += (last ? "L" : "M") + at(x, y); last = [x, y]; first ??= x;
      if (s[6]) markers += `<circle class="doubt" cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="7"/>`;
      if (["line", "dashed"].includes(series.look) || series.spots.length === 1) markers += `<path class="marker" d="${marker(series.slot, x, y)}"/>`;
    }
    flush();
    const fill = series.look === "area" && last ? `<path class="fill" d="${line}L${at(last[0], BOTTOM)}L${at(first, BOTTOM)}Z"/>` : "";
    return `<g class="series s${series.slot} ${series.look}">${bands}${fill}<path class="line" d="${line}"/>${markers}</g>`;
  }
  endLabels() {
    const ends = this.series().filter(s => s.look !== "ideal").map(s => [this.points(s).filter(p => p[0] <= this.right + 1).pop(), s]).filter(e => e[0])
      .map(([p, s]) => ({ y: Math.min(BOTTOM, Math.max(TOP, p[1])), s })).sort((a, b) => a.y - b.y);
    let low = -Infinity, high = BOTTOM + 2;
    for (const e of ends) low = e.y = Math.max(e.y, low + LINE);
    for (const e of ends.slice().reverse()) { e.y = Math.min(e.y, high); high = e.y - LINE; }
    const last = n => / (\S{1,5})$/.exec(n)?.[1] ?? "";
    const short = n => n.length > LETTERS ? `${n.slice(0, LETTERS - 2 - last(n).length).trimEnd()}… ${last(n)}`.trimEnd() : n;
    return ends.map(e => `<text class="direct s${e.s.slot}" x="${(this.right + 8).toFixed(1)}" y="${(e.y + 4).toFixed(1)}">${escape(short(e.s.name))}</text>`).join("");
  }
  spotLabels() {
    let out = "";
    for (const s of this.series().filter(s => s.look === "line")) {
      let before = [-1e9, -1e9];
      for (const [x, y, spot] of this.points(s)) {
        if (!spot[5] || spot[5].length > 8 || Math.hypot(x - before[0], y - before[1]) < 15 || x < LEFT || x > this.right) continue;
        before = [x, y];
        out += `<text class="spot s${s.slot}" x="${(x + 6).toFixed(1)}" y="${(y + 12).toFixed(1)}">${escape(spot[5])}</text>`;
      }
    }
    return out;
  }
  at(event) {
    const box = this.canvas.getBoundingClientRect();
    return [(event.clientX - box.left) * this.width / box.width, (event.clientY - box.top) * this.width / box.width];
  }
  listen() {
    let from = null;
    const on = (name, act) => this.canvas.addEventListener(name, act, { passive: false });
    on("pointermove", e => { const p = this.at(e); from ? this.select(from, p) : this.hover(p, e); });
    on("pointerleave", () => { if (!from) this.unhover(); });
    on("pointerdown", e => { if (e.pointerType !== "touch" && e.button === 0) { from = this.at(e); this.canvas.setPointerCapture(e.pointerId); } });
    on("pointerup", e => { const start = from; from = null; if (start) this.zoomTo(start, this.at(e)); });
    on("pointercancel", () => { from = null; });
    on("dblclick", () => { this.zoom = null; this.render(); });
    // A wheel over a figure that was not clicked scrolls the page, as everywhere.
    on("wheel", e => {
      if (!(e.ctrlKey || e.metaKey || document.activeElement === this.canvas)) return;
      e.preventDefault();
      this.around(this.at(e), e.deltaY > 0 ? 1.25 : 0.8);
    });
    on("keydown", e => {
      const middle = [(LEFT + this.right) / 2, (TOP + BOTTOM) / 2];
      if (e.key === "+" || e.key === "-") this.around(middle, e.key === "+" ? 0.8 : 1.25);
      if (e.key === "0" || e.key === "Escape") { this.zoom = null; this.render(); }
    });
  }
  position([x, y]) {
    const [xl, xh] = this.view.x, [yl, yh] = this.view.y;
    return [xl + (x - LEFT) / (this.right - LEFT) * (xh - xl), yl + (BOTTOM - y) / (BOTTOM - TOP) * (yh - yl)];
  }
  around(pixel, factor) {
    const [x, y] = this.position(pixel), grow = ([low, high], c) => [c + (low - c) * factor, c + (high - c) * factor];
    this.zoom = { x: grow(this.view.x, x), y: grow(this.view.y, y) };
    const wide = axis => this.zoom[axis][1] - this.zoom[axis][0] >= this.home[axis][1] - this.home[axis][0];
    if (wide("x") && wide("y")) this.zoom = null;
    this.render();
  }
  select(a, b) {
    this.unhover();
    const box = this.canvas.querySelector(".select") || this.canvas.firstChild.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "rect"));
    const set = { class: "select", x: Math.min(a[0], b[0]), y: Math.min(a[1], b[1]), width: Math.abs(a[0] - b[0]), height: Math.abs(a[1] - b[1]) };
    for (const [name, value] of Object.entries(set)) box.setAttribute(name, value);
  }
  zoomTo(a, b) {
    this.canvas.querySelector(".select")?.remove();
    if (Math.abs(a[0] - b[0]) < 6 || Math.abs(a[1] - b[1]) < 6) return;
    const [p, q] = [this.position(a), this.position(b)], range = i => [Math.min(p[i], q[i]), Math.max(p[i], q[i])];
    this.zoom = { x: range(0), y: range(1) };
    this.render();
  }
  hover([px, py], event) {
    let best = null, least = 45;
    for (const series of this.series()) for (const [x, y, spot] of this.points(series)) {
      const far = Math.hypot(x - px, y - py);
      if (far < least && x >= LEFT - 1 && x <= this.right + 1) [least, best] = [far, { series, spot, x, y }];
    }
    this.unhover();
    if (!best) return;
    const ring = document.createElementNS("http://www.w3.org/2000/svg", "circle");
    for (const [name, value] of Object.entries({ class: "hover", cx: best.x, cy: best.y, r: 6 })) ring.setAttribute(name, value);
    this.canvas.firstChild.append(ring);
    const { plot } = this, s = best.spot, exact = s[2] != null && s[3] != null, rows = [];
    rows.push(`${plot.y.label}: ${show(s[1], plot.y.quantity)}`);
    if (exact) rows.push(`95 % interval ${show(s[2], plot.y.quantity)} to ${show(s[3], plot.y.quantity)}`);
    rows.push(`${plot.x.label}: ${show(s[0], plot.x.quantity)}${s[5] && plot.label_spots ? `, depth ${s[5]}` : ""}`);
    if (s[4]) rows.push(`n = ${s[4].toLocaleString("en").replaceAll(",", " ")} I/Os`);
    if (s[6]) rows.push("a caveat concerns this point, see the caption");
    tip.innerHTML = `<b>${escape(best.series.name)}</b>` + rows.map(escape).join("<br>");
    tip.hidden = false;
    const room = document.documentElement.clientWidth, left = Math.min(event.pageX + 14, room - tip.offsetWidth - 8);
    tip.style.left = `${Math.max(4, left)}px`; tip.style.top = `${event.pageY + 16}px`;
  }
  unhover() { tip.hidden = true; this.canvas.querySelector(".hover")?.remove(); }
}

const tip = Object.assign(document.createElement("div"), { id: "tip", hidden: true });
document.body.append(tip);
const figures = [...document.querySelectorAll("[data-plot]")].filter(e => data.plots[e.dataset.plot]).map(e => new Figure(e, data.plots[e.dataset.plot]));
let waiting = 0;
addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(() => figures.forEach(f => f.render()), 120); });
const download = document.getElementById("download");
download.href = URL.createObjectURL(new Blob([block.textContent], { type: "application/json" }));
download.download = "iostack.json"; download.hidden = false;
})();
