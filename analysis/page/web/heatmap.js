// Heatmaps.

const bodyMost = 720; // largest width and height of the cells together, px

// cellSide returns the length in px of a cell, of which n stand side by side: as large as fits, at most most.
const cellSide = (n, most) => Math.min(most, Math.floor(bodyMost / n) || bodyMost / n);

// cellSizes are a heatmap's cells' width and height: wider where the columns' names ask for it.
function cellSizes(data, rows, columns) {
  const high = cellSide(rows, 30), names = data.columns ? widest(data.columns) + 8 : 0;
  const side = cellSide(columns, 30);
  const wide = names <= 60 ? Math.min(Math.max(side, Math.ceil(names)), cellSide(columns, 60)) : side;
  const square = cellSide(Math.max(rows, columns), 30);
  return columns * square >= bodyMost / 3 && square > high / 2 ? [Math.min(wide, square), high] : [wide, high];
}

// textCells are the cells' sizes if they have texts that can be read, else null.
function textCells(data) {
  if (!data.cells || data.cells.length * 20 > 2000) return null;
  const wanted = Math.ceil(Math.max(20, ...data.cells.map((row) => widest(row, 11) + 6)));
  const width = Math.min(wanted, 80, Math.floor(2000 / data.cells[0].length));
  return width >= 20 ? [width, 20] : null;
}

// writeCells writes the cells' texts, light ones on dark colours.
function writeCells(body, data, colours, stepX, stepY) {
  data.cells.forEach((row, i) => row.forEach((text, j) => {
    const v = data.values[i][j], rgb = finite(v) ? parseInt(colours.of(v).slice(1), 16) : 0xffffff;
    const luma = 0.299 * (rgb >> 16) + 0.587 * ((rgb >> 8) & 255) + 0.114 * (rgb & 255);
    const place = { x: (j + 0.5) * stepX, y: (i + 0.5) * stepY, "text-anchor": "middle" };
    svg(body, "text", { ...place, class: finite(v) ? (luma < 140 ? "cell light" : "cell dark") : "cell" }, cut(text, stepX - 6, 11));
  }));
}

function heatmap(parent, data, colours = colouring(data.values, data.diverging, false, data.limits)) {
  const rows = data.values.length, columns = data.values[0].length;
  const texts = textCells(data), [stepX, stepY] = texts || cellSizes(data, rows, columns);
  const width = stepX * columns, height = stepY * rows;
  const left = rowNames(data.rows, rows, stepY), foot = columnNames(data.columns, columns, stepX);
  const x = left.room + (data.y_label ? 22 : 0), top = 8;
  const barHeight = Math.round(Math.max(90, Math.min(320, height)));
  const full = Math.max(height + foot.room + (data.x_label ? 22 : 4), barHeight + 8) + top;
  const picture = drawing(parent, x + Math.max(width, 60) + 100, full, heading(parent));
  const body = svg(picture, "g", { transform: `translate(${x} ${top})` });
  const pixels = raster(data.values, colours, Math.max(1, Math.ceil(2 * width)), Math.max(1, Math.ceil(2 * height)));
  svg(body, "image", { class: "pixels", width, height, preserveAspectRatio: "none", href: pixels.toDataURL() });
  if (texts) writeCells(body, data, colours, stepX, stepY);
  left.draw(body);
  foot.draw(svg(body, "g", { transform: `translate(0 ${height})` }));
  if (data.x_label) svg(body, "text", { x: Math.max(width / 2, textWidth(data.x_label) / 2 - x), y: height + foot.room + 9, "text-anchor": "middle" }, data.x_label);
  if (data.y_label) upward(body, 8 - x, Math.max(height / 2, textWidth(data.y_label) / 2), data.y_label, "middle");
  if (!colours.none) colourBar(svg(body, "g", { transform: `translate(${width + 16} 0)` }), colours, barHeight);
  cellsAnswer(picture, body, data, stepX, stepY);
}

// colourBar draws what the colours mean.
function colourBar(parent, colours, height) {
  const steps = Array.from({ length: 129 }, (_, i) => [colours.high + (colours.low - colours.high) * i / 128]);
  svg(parent, "image", { width: 12, height, preserveAspectRatio: "none", href: raster(steps, colours, 1, 129).toDataURL() });
  svg(parent, "rect", { class: "frame", width: 12, height });
  for (const { value, label } of ticks(colours.low, colours.high, Math.max(4, Math.min(6, Math.floor(height / 30))))) {
    const y = (1 - colours.at(value)) * height;
    svg(parent, "line", { class: "tick", x1: 12, x2: 16, y1: y, y2: y });
    svg(parent, "text", { x: 19, y }, label);
  }
}

// cellsAnswer shows a cell's row, column and value under the mouse, or as arrow keys move.
function cellsAnswer(picture, body, data, stepX, stepY) {
  const rows = data.values.length, columns = data.values[0].length;
  const rowNames = namesOf(data.rows, rows), columnNames = namesOf(data.columns, columns);
  const cell = { width: Math.max(stepX, 1), height: Math.max(stepY, 1), visibility: "hidden" };
  const marks = [svg(body, "rect", { class: "mark", ...cell }), svg(body, "rect", { class: "mark inner", ...cell })];
  const area = svg(body, "rect", { class: "area frame", width: stepX * columns, height: stepY * rows, "pointer-events": "all" });
  let at = [0, 0];
  const show = (row, column) => {
    at = [row, column];
    for (const mark of marks) {
      mark.setAttribute("x", column * stepX);
      mark.setAttribute("y", row * stepY);
      mark.setAttribute("visibility", "visible");
    }
    const lines = [[data.y_label || "row", rowNames[row]], [data.x_label || "column", columnNames[column]], ["value", number(data.values[row][column], 6)]];
    if (data.cells) lines.splice(2, 0, ["cell", data.cells[row][column]]);
    return lines;
  };
  const hide = () => {
    for (const mark of marks) mark.setAttribute("visibility", "hidden");
    untip();
  };
  const clamp = (v, n) => Math.max(0, Math.min(n - 1, v));
  area.addEventListener("pointermove", (event) => {
    const box = area.getBoundingClientRect();
    const row = clamp(Math.floor((event.clientY - box.top) / box.height * rows), rows);
    const column = clamp(Math.floor((event.clientX - box.left) / box.width * columns), columns);
    tip(show(row, column), event.clientX, event.clientY);
  });
  area.addEventListener("pointerleave", hide);
  picture.setAttribute("tabindex", "0");
  picture.addEventListener("blur", hide);
  picture.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    tipAt(show(clamp(at[0] + step[0], rows), clamp(at[1] + step[1], columns)), marks[1]);
  });
}
