"use strict";
const DATA = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";
const el = (name, attributes = {}, ...children) => {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
};
const draw = (parent, name, attributes = {}, text = "") => {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text) node.textContent = text;
  parent.append(node);
  return node;
};
const shown = (value) => value === 0 || Math.abs(value) >= 5e-5 ? value.toFixed(4) : value.toExponential(3);
const percent = (value) => (100 * value).toFixed(1) + " %";
const better = (measure, a, b) => measure.higher_is_better ? a >= b : a <= b;
const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b), half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
};

/* Round tick values between two ends. */
function ticks(low, high, count) {
  const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= raw * 0.999);
  const found = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high * (1 + 1e-12) + 1e-12; n++) found.push(+(n * step).toPrecision(10));
  return found;
}
const scale = (low, high, from, to) => (value) => from + (value - low) / (high - low || 1) * (to - from);
const logScale = (low, high, from, to) => {
  const linear = scale(Math.log10(low), Math.log10(high), from, to);
  return (value) => linear(Math.log10(Math.max(value, low)));
};
/* 1, 2 and 5 times powers of ten between two ends; powers alone where these would be many. */
function logTicks(low, high) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const factor of [1, 2, 5]) {
      const value = +(factor * 10 ** power).toPrecision(3);
      if (value >= low * 0.999 && value <= high * 1.001) found.push(value);
    }
  }
  const powers = found.filter((value) => /^10*$|^0?\.?0*1$|e[+-]\d+$/.test(String(value)));
  return found.length > 8 && powers.length > 1 ? powers : found;
}
/* Losses of Task 2 differ by orders of magnitude: a logarithmic axis where all values are positive and far apart. */
const needsLog = (task, values) => task.task === 2 && Math.min(...values) > 0 && Math.max(...values) / Math.min(...values) > 10;
const isPhone = () => matchMedia("(max-width: 40rem)").matches;
const short = (text, most) => text.length > most ? text.slice(0, most - 1) + "…" : text;
function span(values, margin, floor = -Infinity, ceiling = Infinity) {
  const low = Math.min(...values), high = Math.max(...values), room = (high - low || Math.abs(high) || 1) * margin;
  return [Math.max(floor, low - room), Math.min(ceiling, high + room)];
}

/* Free places for labels: the point with most neighbours chooses first, each takes the cheapest spot around it. */
function placeLabels(points, widths, width, height) {
  const boxes = points.map(() => null), size = 13;
  const crowd = points.map(([x, y]) => points.filter(([u, v]) => Math.hypot(u - x, v - y) < 90).length);
  const order = points.map((_, n) => n).sort((a, b) => crowd[b] - crowd[a] || a - b);
  for (const n of order) {
    let best = null, lowest = Infinity;
    for (const radius of [9, 15, 24, 36, 50, 66]) for (let turn = 0; turn < 16; turn++) {
      const angle = Math.PI * turn / 8, dx = Math.cos(angle), dy = Math.sin(angle);
      const x = points[n][0] + radius * dx + (dx - 1) * widths[n] / 2, y = points[n][1] + radius * dy + (dy - 1) * size / 2;
      let cost = radius / 4 + (x < 82 || y < 20 || x + widths[n] > width - 4 || y + size > height - 54 ? 500 : 0);
      for (const [u, v] of points) if (u > x - 5 && u < x + widths[n] + 5 && v > y - 5 && v < y + size + 5) cost += 40;
      for (const other of boxes) if (other) {
        const w = Math.min(x + widths[n], other.x + other.w) - Math.max(x, other.x), h = Math.min(y, other.y) + size - Math.max(y, other.y);
        if (w > -2 && h > -2) cost += 20 + (w + 2) * (h + 2) / 4;
      }
      if (cost < lowest) { lowest = cost; best = { x, y, w: widths[n] }; }
    }
    boxes[n] = best;
  }
  return boxes;
}

function scatter(section, task, choose) {
  const width = isPhone() ? 380 : 640, height = isPhone() ? 420 : 460, [xName, yName] = task.axes;
  const holder = section.querySelector(".scatter");
  holder.replaceChildren();
  const svg = draw(holder, "svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `${xName} against ${yName}, a point per run` });
  const ends = (name, isLog) => {
    const values = task.runs.flatMap((run) => [...run.ci[name], run.scores[name]]);
    return isLog ? [Math.min(...values.filter((value) => value > 0)) / 1.15, Math.max(...values) * 1.15] : span(values, 0.08, 0, task.task === 1 ? 1 : Infinity);
  };
  const [xLog, yLog] = task.axes.map((name) => needsLog(task, task.runs.map((run) => run.scores[name])));
  const [x0, x1] = ends(xName, xLog), [y0, y1] = ends(yName, yLog);
  const x = (xLog ? logScale : scale)(x0, x1, 72, width - 12), y = (yLog ? logScale : scale)(y0, y1, height - 44, 22);
  const marks = (low, high, isLog) => isLog ? logTicks(low, high) : ticks(low, high, isPhone() ? 4 : 6);
  for (const value of marks(x0, x1, xLog)) draw(svg, "text", { x: x(value), y: height - 26, "text-anchor": "middle", class: "soft" }, String(value));
  for (const value of marks(y0, y1, yLog)) draw(svg, "text", { x: 66, y: y(value) + 4, "text-anchor": "end", class: "soft" }, String(value));
  draw(svg, "path", { d: `M72 22V${height - 44}H${width - 12}`, class: "axis", fill: "none" });
  const [xMeasure, yMeasure] = task.axes.map((name) => task.measures.find((measure) => measure.name === name));
  draw(svg, "text", { x: (width + 60) / 2, y: height - 6, "text-anchor": "middle" }, `${xName} (${xLog ? "log scale, " : ""}${xMeasure.higher_is_better ? "higher is better →" : "lower is better ←"})`);
  draw(svg, "text", { x: 14, y: height / 2, "text-anchor": "middle", transform: `rotate(-90 14 ${height / 2})` }, `${yName} (${yLog ? "log scale, " : ""}${yMeasure.higher_is_better ? "higher is better →" : "← lower is better"})`);
  isoLines(svg, task, x, y, [x0, x1, y0, y1], yLog);
  const points = task.runs.map((run) => [x(run.scores[xName]), y(run.scores[yName])]);
  const widths = task.runs.map((run) => 6.6 * run.name.length + 4);
  const boxes = placeLabels(points, widths, width, height);
  task.runs.forEach((run, n) => {
    const [px, py] = points[n], box = boxes[n];
    draw(svg, "path", { d: `M${px} ${height - 44}v-7M72 ${py}h7`, class: "rug" });
    const label = `${run.name}: ${xName} ${shown(run.scores[xName])}, ${yName} ${shown(run.scores[yName])}, ${task.main} ${shown(run.scores[task.main])}`;
    const group = draw(svg, "g", { class: "point", tabindex: 0, role: "button", "aria-label": label, "data-run": run.name });
    draw(group, "title", {}, label);
    draw(group, "path", { d: `M${x(run.ci[xName][0])} ${py}H${x(run.ci[xName][1])}M${px} ${y(run.ci[yName][0])}V${y(run.ci[yName][1])}`, class: "bar" });
    const nearX = Math.min(Math.max(px, box.x), box.x + box.w), nearY = Math.min(Math.max(py, box.y), box.y + 13);
    if (Math.hypot(nearX - px, nearY - py) > 12) draw(group, "path", { d: `M${px} ${py}L${nearX} ${nearY}`, class: "bar" });
    draw(group, "circle", { cx: px, cy: py, r: 6 });
    draw(group, "text", { x: box.x + box.w / 2, y: box.y + 10, "text-anchor": "middle" }, run.name);
    group.addEventListener("click", () => choose(run.name));
    group.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(run.name); } });
  });
}

/* Lines of equal main measure: products in Task 1, EE-L = EE-D − 2 EE-R + constant in Task 2. */
function isoLines(svg, task, x, y, [x0, x1, y0, y1], yLog) {
  const constant = task.runs.reduce((sum, { scores: s }) => sum + (task.task === 2 ? s["EE-L"] - s["EE-D"] + 2 * s["EE-R"] : 0), 0) / task.runs.length;
  const corners = [[x0, y0], [x0, y1], [x1, y0], [x1, y1]].map(([u, v]) => task.task === 1 ? u * v : v - 2 * u + constant);
  let isFirst = true;
  const levels = ticks(Math.max(0, Math.min(...corners)), Math.max(...corners), 6); // no measure here is below zero
  if (task.task === 2) levels.reverse();
  for (const level of levels) {
    const at = task.task === 1 ? (v) => level / v : (v) => (v - level + constant) / 2;
    const steps = Array.from({ length: 41 }, (_, n) => yLog ? y0 * (y1 / y0) ** (n / 40) : y0 + (y1 - y0) * n / 40).filter((v) => v > 0 || task.task === 2);
    const seen = steps.map((v) => [at(v), v]).filter(([u]) => u >= x0 && u <= x1);
    if (seen.length < 2) continue;
    draw(svg, "path", { d: "M" + seen.map(([u, v]) => `${x(u).toFixed(1)} ${y(v).toFixed(1)}`).join("L"), class: "iso" });
    const [u, v] = seen[seen.length - 1];
    if (y(v) > 22 + 14) {
      if (task.task === 2) draw(svg, "text", { x: x(x1), y: y(v) - 5, "text-anchor": "end", class: "soft" }, String(level));
      continue;
    }
    draw(svg, "text", { x: x(u), y: 16, "text-anchor": isFirst ? "start" : "middle", class: "soft" }, isFirst ? `${task.main} ${level}` : String(level));
    isFirst = false;
  }
}

function exposure(section, run) {
  const holder = section.querySelector(".exposure");
  holder.replaceChildren();
  for (const { dimension, groups } of run.exposure) {
    const most = Math.max(...groups.flatMap((group) => [group.exposure, group.target]), 1e-9);
    const body = el("tbody");
    for (const group of groups) {
      const isUnder = group.exposure < group.target - 5e-5;
      const meter = el("div", { class: "meter", "aria-hidden": "true" },
        el("div", { class: isUnder ? "fill bad" : "fill", style: `width:${100 * group.exposure / most}%` }),
        el("div", { class: "goal", style: `left:calc(${100 * group.target / most}% - 2px)` }));
      body.append(el("tr", {}, el("th", { scope: "row" }, group.name), el("td", {}, meter), el("td", { class: "n" }, percent(group.exposure)), el("td", { class: "n" }, percent(group.target))));
    }
    const head = el("thead", {}, el("tr", {}, el("th", { scope: "col", style: "width:34%" }, dimension), el("td", { style: "width:32%" }), el("th", { scope: "col", style: "text-align:right" }, "run"), el("th", { scope: "col", style: "text-align:right" }, "target")));
    holder.append(el("table", {}, head, body));
  }
}

function topics(section, task, run, measure, order) {
  const rows = Object.keys(run.topics).map((topic) => {
    const field = task.runs.filter((other) => topic in other.topics).map((other) => other.topics[topic][measure.name]);
    return { topic, value: run.topics[topic][measure.name], low: Math.min(...field), high: Math.max(...field), middle: median(field) };
  });
  const sign = measure.higher_is_better ? -1 : 1;
  rows.sort((a, b) => order === "score" ? sign * (a.value - b.value) : a.topic - b.topic);
  const name = (topic) => task.topics[topic] ? `${task.topics[topic]} (${topic})` : String(topic);
  const width = isPhone() ? 380 : 1040, left = isPhone() ? 132 : 260, step = 20, height = 44 + rows.length * step;
  const holder = section.querySelector(".topics");
  holder.replaceChildren();
  const svg = draw(holder, "svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${measure.name} of ${run.name} on ${rows.length} topics; the table below has the numbers` });
  const values = rows.flatMap((row) => [row.low, row.high, row.value]), isLog = needsLog(task, values);
  const [low, high] = isLog ? [Math.min(...values) / 1.1, Math.max(...values) * 1.1] : span(values, 0.05, 0);
  const x = (isLog ? logScale : scale)(low, high, left, width - 12);
  for (const value of isLog ? logTicks(low, high) : ticks(low, high, isPhone() ? 4 : 8)) {
    draw(svg, "path", { d: `M${x(value)} 6V${height - 34}`, class: "grid-line" });
    draw(svg, "text", { x: x(value), y: height - 20, "text-anchor": "middle", class: "soft" }, String(value));
  }
  draw(svg, "text", { x: (left + width) / 2, y: height - 4, "text-anchor": "middle" }, `${measure.name}${isLog ? " (log scale)" : ""}`);
  rows.forEach((row, n) => {
    const y = 6 + (n + 0.5) * step, isGood = better(measure, row.value, row.middle), place = x(row.value);
    const group = draw(svg, "g");
    draw(group, "title", {}, `${name(row.topic)}: ${shown(row.value)}; field ${shown(row.low)} to ${shown(row.high)}, median ${shown(row.middle)}`);
    draw(group, "path", { d: `M${x(row.low)} ${y}H${x(row.high)}`, class: "field" });
    draw(group, "path", { d: `M${x(row.middle)} ${y - 5}v10`, class: "median" });
    if (isGood) draw(group, "circle", { cx: place, cy: y, r: 5, class: "good" });
    else draw(group, "path", { d: `M${place} ${y - 6}l6 6l-6 6l-6-6Z`, class: "bad" });
    draw(group, "text", { x: left - 8, y: y + 4, "text-anchor": "end" }, short(name(row.topic), isPhone() ? 20 : 38));
  });
  const body = el("tbody", {}, ...rows.map((row) => el("tr", {}, el("th", { scope: "row" }, name(row.topic)), ...[row.value, row.middle, row.low, row.high].map((value) => el("td", { style: "text-align:right" }, shown(value))))));
  const names = ["topic", run.name, "median", "least", "largest"].map((name, n) => el("th", { scope: "col", ...(n ? { style: "text-align:right" } : {}) }, name));
  section.querySelector(".topic-table").replaceChildren(el("table", {}, el("caption", {}, `${measure.name} by topic`), el("thead", {}, el("tr", {}, ...names)), body));
}

/* Headings sort the table; run names choose the run. */
function liveTable(section, choose) {
  const table = section.querySelector("table.evenrank"), body = table.tBodies[0];
  const key = (row, place) => {
    const text = row.cells[place].textContent, number = parseFloat(text.replace("(", ""));
    return Number.isNaN(number) || place === 0 ? text : number;
  };
  [...table.tHead.rows[0].cells].forEach((head, place) => {
    const button = el("button", { type: "button" }, head.textContent);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].sort((a, b) => { const u = key(a, place), v = key(b, place); return (u < v ? -1 : u > v ? 1 : 0) * (down ? -1 : 1); });
      body.append(...rows);
    });
  });
  for (const row of body.rows) {
    const name = row.cells[0].textContent;
    row.dataset.run = name;
    const button = el("button", { type: "button" }, name);
    button.addEventListener("click", () => choose(name));
    row.cells[0].replaceChildren(button);
  }
}

function start(section, task) {
  const runChoice = section.querySelector(".run-choice"), measureChoice = section.querySelector(".measure-choice"), orderChoice = section.querySelector(".order-choice");
  for (const run of task.runs) runChoice.append(el("option", {}, run.name));
  for (const measure of task.measures) measureChoice.append(el("option", { value: measure.name }, measure.label));
  measureChoice.value = task.main;
  const update = () => {
    const run = task.runs.find((one) => one.name === runChoice.value), measure = task.measures.find((one) => one.name === measureChoice.value);
    exposure(section, run);
    topics(section, task, run, measure, orderChoice.value);
    for (const node of section.querySelectorAll("[data-run]")) {
      node.classList.toggle("chosen", node.dataset.run === run.name);
      if (node.matches("g")) node.setAttribute("aria-pressed", node.dataset.run === run.name);
    }
  };
  const choose = (name) => { runChoice.value = name; update(); };
  liveTable(section, choose);
  scatter(section, task, choose);
  for (const control of [runChoice, measureChoice, orderChoice]) control.addEventListener("change", update);
  matchMedia("(max-width: 40rem)").addEventListener("change", () => { scatter(section, task, choose); update(); });
  update();
}

document.body.classList.remove("no-script");
for (const task of DATA.tasks) start(document.querySelector(`section[data-task="${task.task}"]`), task);
for (const block of document.querySelectorAll("pre")) {
  if (!navigator.clipboard) break;
  const button = el("button", { type: "button", class: "copy" }, "copy");
  button.addEventListener("click", async () => { await navigator.clipboard.writeText(block.dataset.command); button.textContent = "copied"; });
  block.append(button);
}
