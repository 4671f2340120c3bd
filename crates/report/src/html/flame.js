// Adds zoom to the pictures of calls: a click makes a rectangle as wide as the picture, with what it calls below it.
"use strict";
(() => {
for (const figure of document.querySelectorAll(".flame")) {
  const all = [...figure.querySelectorAll(".calls > svg")].map(element => ({
    element,
    x: parseFloat(element.getAttribute("x")), width: parseFloat(element.getAttribute("width")), y: +element.getAttribute("y"),
    words: element.querySelector("title").textContent,
  }));
  const back = figure.querySelector(".back"), said = figure.querySelector(".said");
  const show = (x, width, y) => {
    for (const call of all) {
      const left = (call.x - x) / width * 100, wide = call.width / width * 100;
      // Callers of what was clicked stay above it, as wide as the picture.
      const caller = call.y < y && call.x <= x + 1e-3 && call.x + call.width >= x + width - 1e-3;
      const inside = caller || (call.y >= y && left > -0.01 && left + wide < 100.01);
      call.element.style.display = inside && wide > 0.05 ? "" : "none";
      if (!inside) continue;
      call.element.setAttribute("x", `${caller ? 0 : left}%`);
      call.element.setAttribute("width", `${caller ? 100 : wide}%`);
      let text = call.element.querySelector("text");
      if (!text && wide > 1.8) {
        text = document.createElementNS("http://www.w3.org/2000/svg", "text");
        text.setAttribute("x", 4); text.setAttribute("y", 13);
        text.textContent = call.words.replace(/(?: \([^()]*\))?: [^:]*$/, "");
        call.element.append(text);
      }
      call.element.classList.toggle("caller", caller);
    }
    back.hidden = width >= 100;
  };
  for (const call of all) {
    call.element.addEventListener("click", () => show(call.x, call.width, call.y));
    call.element.addEventListener("pointerenter", () => { said.textContent = call.words; });
  }
  figure.querySelector(".calls").addEventListener("pointerleave", () => { said.textContent = ""; });
  back.addEventListener("click", () => show(0, 100, 0));
}
})();
