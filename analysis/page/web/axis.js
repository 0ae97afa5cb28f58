// Axes: of numbers, and of names along a heatmap's sides.

// scaleOf maps [low, high] to [0, length] px.
function scaleOf(low, high, length, log = false) {
  const holds = (v) => finite(v) && (v > 0 || !log);
  const at = log ? (v) => length * Math.log(v / low) / Math.log(high / low) : (v) => length * ((v / 2 - low / 2) / (high / 2 - low / 2));
  return { low, high, length, log, holds, at, ticks: (about) => (log ? logTicks : ticks)(low, high, about) };
}

// widened is an interval with a little room at both ends.
function widened(low, high, log) {
  const room = 0.03;
  if (log) {
    const factor = Math.max((high / low) ** room, 1.02);
    return [Math.max(low / factor, Number.MIN_VALUE), Math.min(high * factor, Number.MAX_VALUE)];
  }
  const gap = Math.max(room * (high / 2 - low / 2) * 2, 1e-3 * Math.max(Math.abs(high), Math.abs(low), 1e-9));
  return [Math.max(low - gap, -Number.MAX_VALUE), Math.min(high + gap, Number.MAX_VALUE)];
}

// below draws a scale's grid lines over a height and the numbers below them.
function below(parent, scale, height) {
  for (const { value, label } of scale.ticks(7)) {
    const x = scale.at(value);
    svg(parent, "line", { class: "grid", x1: x, x2: x, y1: 0, y2: height });
    svg(parent, "line", { class: "tick", x1: x, x2: x, y1: height, y2: height + 4 });
    svg(parent, "text", { x, y: height + 14, "text-anchor": "middle" }, label);
  }
  svg(parent, "line", { class: "tick", x1: 0, x2: scale.length, y1: height, y2: height });
}

// besides draws a scale's grid lines over a width and the numbers left of them.
function besides(parent, scale, width) {
  for (const { value, label } of scale.ticks(7)) {
    const y = scale.length - scale.at(value);
    svg(parent, "line", { class: "grid", x1: 0, x2: width, y1: y, y2: y });
    svg(parent, "line", { class: "tick", x1: -4, x2: 0, y1: y, y2: y });
    svg(parent, "text", { x: -8, y, "text-anchor": "end" }, label);
  }
  svg(parent, "line", { class: "tick", x1: 0, x2: 0, y1: 0, y2: scale.length });
}

// upward writes a text from the bottom up.
function upward(parent, x, y, text, anchor) {
  svg(parent, "text", { transform: `translate(${x} ${y}) rotate(-90)`, "text-anchor": anchor }, text);
}

const pitch = 14; // from label to label, px

// every returns how many cells apart labels stand if each takes room px.
const every = (step, room) => Math.max(1, Math.ceil(room / step - 1e-9));

// namesOf returns the labels of a heatmap's side, or the indices if it has none.
const namesOf = (labels, n) => labels || Array.from({ length: n }, (_, i) => String(i));

// rowNames lays out names to the left of rows that are step px high.
function rowNames(labels, n, step) {
  const short = namesOf(labels, n).map((name) => cut(name, 190)), each = every(step, pitch);
  const shown = short.filter((_, i) => i % each === 0);
  return {
    room: Math.ceil(widest(shown)) + 9,
    draw: (parent) => shown.forEach((name, i) => {
      const y = (i * each + 0.5) * step;
      svg(parent, "line", { class: "tick", x1: -4, x2: 0, y1: y, y2: y });
      svg(parent, "text", { x: -7, y, "text-anchor": "end" }, name);
    }),
  };
}

// columnNames lays out the names below columns: across if all fit, or if they are numbers, else
// upright.
function columnNames(labels, n, step) {
  const short = namesOf(labels, n).map((name) => cut(name, 190)), wide = widest(short) + 8;
  const across = !labels || every(step, wide) === 1;
  const each = every(step, across ? wide : pitch), shown = short.filter((_, i) => i % each === 0);
  return {
    room: across ? 22 : Math.ceil(widest(shown)) + 10,
    draw: (parent) => shown.forEach((name, i) => {
      const x = (i * each + 0.5) * step;
      svg(parent, "line", { class: "tick", x1: x, x2: x, y1: 0, y2: 4 });
      if (across) svg(parent, "text", { x, y: 14, "text-anchor": "middle" }, name);
      else upward(parent, x, 8, name, "end");
    }),
  };
}
