// Values under the pointer (or at the arrow keys), and buttons that hide runs. The page is complete
// without this.
"use strict";
for (const figure of document.querySelectorAll("figure[data-curves]")) {
  const data = JSON.parse(figure.querySelector("script").textContent);
  const svg = figure.querySelector("svg");
  const space = "http://www.w3.org/2000/svg";
  const rule = svg.appendChild(document.createElementNS(space, "path"));
  rule.setAttribute("class", "axis");
  const values = figure.appendChild(document.createElement("div"));
  values.className = "values off";
  values.setAttribute("aria-live", "polite");
  const hidden = new Set();
  let at = null;

  // The kept point of a line whose iteration is nearest.
  function nearest(line, iteration) {
    let low = 0;
    let high = line.x.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (line.x[middle] < iteration) low = middle;
      else high = middle;
    }
    return Math.abs(line.x[high] - iteration) < Math.abs(line.x[low] - iteration) ? high : low;
  }

  function show(iteration) {
    at = Math.max(0, Math.min(Math.round(iteration), data.last));
    const x = data.left + (data.width * at) / data.range;
    rule.setAttribute("d", `M${x} ${data.top}V${data.top + data.height}`);
    rule.classList.remove("off");
    values.replaceChildren(`iteration ${at.toLocaleString("en")}`);
    for (const line of data.lines) {
      if (hidden.has(line.run) || at > line.x[line.x.length - 1]) continue;
      const k = nearest(line, at);
      const row = values.appendChild(document.createElement("div"));
      row.className = `c${line.run % data.colours}`;
      const value = line.y[k] === null ? "not finite" : line.y[k].toExponential(3);
      const near = line.x[k] === at ? "" : ` (at ${line.x[k].toLocaleString("en")})`;
      row.textContent = `${line.label}: ${value}${near}`;
    }
    values.classList.remove("off");
    const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    const space = svg.getBoundingClientRect().width - values.offsetWidth - 8;
    const right = x * scale + 14;
    values.style.left = `${Math.max(0, right > space ? x * scale - values.offsetWidth - 14 : right)}px`;
    values.style.top = `${(data.top + 8) * scale}px`;
  }

  function hide() {
    at = null;
    rule.classList.add("off");
    values.classList.add("off");
  }

  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) * svg.viewBox.baseVal.width) / box.width;
    show(((x - data.left) * data.range) / data.width);
  });
  svg.addEventListener("pointerleave", hide);
  svg.setAttribute("tabindex", "0");
  svg.addEventListener("blur", hide);
  svg.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageDown: -Math.ceil(data.last / 20), PageUp: Math.ceil(data.last / 20) };
    if (event.key === "Escape") hide();
    else if (event.key === "Home") show(0);
    else if (event.key === "End") show(data.last);
    else if (event.key in steps) show(at === null ? 0 : at + steps[event.key]);
    else return;
    event.preventDefault();
  });

  if (data.lines.length < 2) continue;
  const buttons = document.createElement("div");
  buttons.className = "runs";
  buttons.setAttribute("role", "group");
  buttons.setAttribute("aria-label", "Runs that are shown");
  for (const line of data.lines) {
    const button = buttons.appendChild(document.createElement("button"));
    button.type = "button";
    button.className = `c${line.run % data.colours}`;
    button.textContent = line.label;
    button.setAttribute("aria-pressed", "true");
    button.addEventListener("click", () => {
      const off = !hidden.delete(line.run);
      if (off) hidden.add(line.run);
      button.setAttribute("aria-pressed", String(!off));
      for (const shape of svg.querySelectorAll(`[data-run="${line.run}"]`)) {
        shape.classList.toggle("off", off);
      }
      hide();
    });
  }
  figure.before(buttons);
}
