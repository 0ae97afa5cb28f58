// Bar charts.

const barLength = 480, barPitch = 20; // px

function bars(parent, data) {
  const short = data.labels.map((label) => cut(label, 250));
  const left = Math.ceil(widest(short)) + 10, scale = barScale(data.values, data.errors);
  const height = barPitch * data.values.length, foot = 26 + (data.y_label ? 20 : 0);
  const titleRoom = data.y_label ? Math.max(0, textWidth(data.y_label) / 2 - left - barLength / 2) : 0;
  const picture = drawing(parent, left + barLength + 16, height + foot + 4, heading(parent));
  const body = svg(picture, "g", { transform: `translate(${left} 4)` });
  below(body, scale, height);
  const zero = scale.at(0);
  const drawn = data.values.map((v, i) => {
    svg(body, "text", { x: -7, y: (i + 0.5) * barPitch, "text-anchor": "end" }, short[i]);
    return finite(v) ? drawBar(body, v, i, scale, reachOf(data.errors, i)) : null;
  });
  svg(body, "line", { class: "tick", x1: zero, x2: zero, y1: 0, y2: height });
  if (data.y_label) svg(body, "text", { x: barLength / 2 + titleRoom, y: height + 34, "text-anchor": "middle" }, data.y_label);
  barsAnswer(body, data, drawn, left, height);
}

// barScale returns the axis of the bars' lengths. It contains 0, and has room for numbers at the ends of bars.
function barScale(values, errors) {
  let [low, high] = extent([values, values.map((v, i) => v - reachOf(errors, i)), values.map((v, i) => v + reachOf(errors, i)), [0]]);
  if (low === high) high = 1;
  const room = 0.14 * (high - low);
  return scaleOf(low < 0 ? low - room : low, high > 0 ? high + room : high, barLength);
}

// drawBar draws a bar with its number at its end.
function drawBar(body, v, i, scale, reach) {
  const zero = scale.at(0), end = scale.at(v), far = scale.at(v < 0 ? v - reach : v + reach);
  svg(body, "text", { class: "quiet", x: v < 0 ? far - 5 : far + 5, y: (i + 0.5) * barPitch, "font-size": 11, "text-anchor": v < 0 ? "end" : "start" }, number(v));
  const bar = svg(body, "rect", {
    class: "bar", x: Math.min(zero, end), y: (i + 0.12) * barPitch, width: Math.max(0.5, Math.abs(end - zero)), height: 0.76 * barPitch,
    fill: v < 0 ? palette.negative : palette.positive,
  });
  if (reach) {
    const near = scale.at(v < 0 ? v + reach : v - reach), y = (i + 0.5) * barPitch;
    svg(body, "path", { class: "whisker", d: `M${near} ${y}H${far}M${near} ${y - 4}v8M${far} ${y - 4}v8` });
  }
  return bar;
}

// reachOf is the half-length of a bar's error bar, 0 for none.
const reachOf = (errors, i) => (errors && finite(errors[i]) ? Math.abs(errors[i]) : 0);

// barsAnswer shows the label and the value of the bar under the mouse.
function barsAnswer(body, data, drawn, left, height) {
  const area = svg(body, "rect", { class: "area", x: -left, width: left + barLength, height, fill: "none", "pointer-events": "all" });
  const lit = (row) => drawn.forEach((bar, i) => bar?.classList.toggle("dim", row >= 0 && i !== row));
  let last = -1;
  area.addEventListener("pointermove", (event) => {
    const box = area.getBoundingClientRect(), n = data.values.length;
    const row = Math.max(0, Math.min(n - 1, Math.floor((event.clientY - box.top) / box.height * n)));
    if (row !== last) lit(last = row);
    tip([["bar", data.labels[row]], [data.y_label || "value", number(data.values[row], 6) + (reachOf(data.errors, row) ? ` ± ${number(data.errors[row], 3)}` : "")]], event.clientX, event.clientY);
  });
  area.addEventListener("pointerleave", () => {
    lit(last = -1);
    untip();
  });
}
