// Elements, texts and colours.

const palette = JSON.parse(document.getElementById("palette").textContent);

// svg makes an SVG element in a parent.
function svg(parent, name, attributes = {}, text) {
  return grow(document.createElementNS("http://www.w3.org/2000/svg", name), parent, attributes, text);
}

// html makes an HTML element in a parent.
function html(parent, name, attributes = {}, text) {
  return grow(document.createElement(name), parent, attributes, text);
}

function grow(element, parent, attributes, text) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

// drawing makes an SVG picture that scrolls where it is too wide.
function drawing(parent, width, height, label) {
  const box = html(parent, "div", { class: "scroll" });
  return svg(box, "svg", { width: Math.ceil(width), height: Math.ceil(height), role: "img", "aria-label": label });
}

// heading is a figure's title.
const heading = (parent) => (parent.closest("figure")?.querySelector("figcaption")?.textContent || "figure");

const pen = document.createElement("canvas").getContext("2d");

// textWidth is a text's width in px as pictures write it.
function textWidth(text, size = 12) {
  pen.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width;
}

const widest = (texts, size) => texts.reduce((most, text) => Math.max(most, textWidth(text, size)), 0);

// cut shortens a text to a width.
function cut(text, width, size = 12) {
  if (textWidth(text, size) <= width) return text;
  const letters = Array.from(text);
  let least = 0, most = letters.length; // numbers of letters that fit, and that do not
  while (most - least > 1) {
    const middle = (least + most) >> 1;
    if (textWidth(letters.slice(0, middle).join("") + "…", size) <= width) least = middle;
    else most = middle;
  }
  return letters.slice(0, least).join("") + "…";
}

// colouring fits a ramp of colours to values: around 0 if diverging, from 0 on if from zero, else
// from the smallest to the largest value; limits, if given, replace these ends.
function colouring(rows, diverging, fromZero = false, limits = null) {
  let [low, high] = extent(rows);
  const none = low > high;
  if (none) [low, high] = [0, 1];
  let ramp = palette.sequential;
  if (diverging) {
    high = Math.max(Math.abs(low), Math.abs(high));
    [low, ramp] = [-high, palette.diverging];
  } else if (fromZero) {
    [low, high, ramp] = [0, high || 1, palette.intensity];
  }
  if (limits) [low, high] = limits;
  const at = (v) => (high === low ? 0.5 : Math.max(0, Math.min(1, (v / 2 - low / 2) / (high / 2 - low / 2))));
  const of = (v) => ramp[Math.round(at(v) * (ramp.length - 1))];
  return { low, high, none, diverging, at, of };
}

// raster draws cells as colours on a canvas of at most mostWide x mostHigh pixels. A cell without a value
// is transparent; where cells are smaller than pixels, a pixel shows its strongest cell.
function raster(values, colours, mostWide, mostHigh) {
  const width = Math.min(values[0].length, mostWide), height = Math.min(values.length, mostHigh);
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext("2d"), image = context.createImageData(width, height);
  for (let y = 0; y < height; y++) {
    const rows = values.slice(...share(y, height, values.length));
    for (let x = 0; x < width; x++) {
      const v = strongest(rows, share(x, width, values[0].length), colours.diverging);
      if (!finite(v)) continue;
      const rgb = parseInt(colours.of(v).slice(1), 16);
      image.data.set([rgb >> 16, (rgb >> 8) & 255, rgb & 255, 255], 4 * (y * width + x));
    }
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

// share returns which of count cells pixel i shows: [from, to).
const share = (i, pixels, count) => [Math.floor(i * count / pixels), Math.max(Math.floor((i + 1) * count / pixels), Math.floor(i * count / pixels) + 1)];

// strongest is the value farthest from 0, or, if colours do not diverge, the largest.
function strongest(rows, [from, to], diverging) {
  let best = null;
  for (const row of rows) {
    for (let i = from; i < to; i++) {
      const v = row[i];
      if (finite(v) && (best === null || (diverging ? Math.abs(v) > Math.abs(best) : v > best))) best = v;
    }
  }
  return best;
}
