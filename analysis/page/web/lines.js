// Line charts.

const chart = { width: 500, height: 300 };

function lines(parent, data) {
  const points = data.series.map((s, i) => pointsOf(s, i, data));
  const [x, y] = chartScales(points.flat(), data);
  const left = Math.ceil(widest(y.ticks(7).map((t) => t.label))) + 12 + (data.y_label ? 22 : 0);
  const step = x.at(1) - x.at(0), names = data.x_names && columnNames(data.x_names, data.x_names.length, step);
  const foot = (names ? names.room + 4 : 26) + (data.x_label ? 20 : 0);
  const picture = drawing(parent, left + chart.width + 16, chart.height + foot + 8, heading(parent));
  const body = svg(picture, "g", { transform: `translate(${left} 8)` });
  if (names) {
    names.draw(svg(body, "g", { transform: `translate(${x.at(0) - step / 2} ${chart.height})` }));
    svg(body, "line", { class: "tick", x1: 0, x2: x.length, y1: chart.height, y2: chart.height });
  } else below(body, x, chart.height);
  besides(body, y, chart.width);
  if (data.x_label) svg(body, "text", { x: chart.width / 2, y: chart.height + foot - 12, "text-anchor": "middle" }, data.x_label);
  if (data.y_label) upward(body, 8 - left, chart.height / 2, data.y_label, "middle");
  const drawn = data.series.map((s, i) => drawSeries(body, s, points[i], x, y, styleOf(i)));
  pointsAnswer(body, data, points.flat(), x, y);
  if (data.series.length > 1 || data.series[0].name) legend(parent, data, drawn, body);
}

// pointsOf returns the points of a series that can be drawn. first says that a line begins at the point.
function pointsOf(series, index, data) {
  const points = [];
  let broken = true;
  series.x.forEach((x, i) => {
    const y = series.y[i];
    if (!finite(x) || !finite(y) || (data.log_x && x <= 0) || (data.log_y && y <= 0)) {
      broken = true;
      return;
    }
    const error = series.error && finite(series.error[i]) ? Math.abs(series.error[i]) : 0;
    points.push({ series: index, x, y, error, first: broken });
    broken = false;
  });
  return points;
}

// chartScales are the axes over all points and error bars.
function chartScales(points, data) {
  const [left, right] = extent([points.map((p) => p.x)]);
  const tall = points.flatMap((p) => [p.y, p.y - p.error, p.y + p.error]).filter((v) => v > 0 || !data.log_y);
  const [bottom, top] = extent([tall]);
  const scale = (low, high, length, log) => scaleOf(...(low > high ? [1, 10] : widened(low, high, log)), length, log);
  return [scale(left, right, chart.width, data.log_x), scale(bottom, top, chart.height, data.log_y)];
}

// styleOf returns the style of series i: a colour, solid; when all colours are used, dashed, then dotted.
function styleOf(i) {
  const n = palette.series.length;
  return { stroke: palette.series[i % n], "stroke-dasharray": ["none", "7 3", "2 3", "9 3 2 3"][Math.floor(i / n) % 4] };
}

// drawSeries draws a line or marks, and error bars.
function drawSeries(body, series, points, x, y, style) {
  const parts = [];
  const place = (p) => `${x.at(p.x).toFixed(2)} ${(y.length - y.at(p.y)).toFixed(2)}`;
  const dot = (p) => `M${place(p)}h0`; // a round cap alone
  if (points.some((p) => p.error)) parts.push(svg(body, "path", { class: "errors", stroke: style.stroke, d: points.map((p) => errorBar(p, x, y)).join("") }));
  const alone = points.filter((p, i) => series.points || series.marks || (p.first && (i + 1 === points.length || points[i + 1].first)));
  if (!series.points) parts.push(svg(body, "path", { class: "series", ...style, d: points.map((p) => (p.first ? "M" : "L") + place(p)).join("") }));
  if (alone.length) parts.push(svg(body, "path", { class: "dots", stroke: style.stroke, "stroke-width": 5.4, "stroke-linecap": "round", d: alone.map(dot).join("") }));
  return parts;
}

// errorBar is a point's error bar; one that reaches 0 on a logarithmic axis goes down to its end.
function errorBar(p, x, y) {
  if (!p.error) return "";
  const low = p.y - p.error, at = x.at(p.x).toFixed(2);
  const top = (y.length - y.at(Math.min(p.y + p.error, y.high))).toFixed(2);
  const bottom = (y.holds(low) ? y.length - y.at(Math.max(low, y.low)) : y.length).toFixed(2);
  return `M${at} ${top}V${bottom}M${at - 3} ${top}h6M${at - 3} ${bottom}h6`;
}

// pointsAnswer shows the point nearest to the mouse.
function pointsAnswer(body, data, points, x, y) {
  const spot = svg(body, "circle", { class: "spot", r: 5, visibility: "hidden" });
  const area = svg(body, "rect", { class: "area", width: chart.width, height: chart.height, fill: "none", "pointer-events": "all" });
  const places = points.map((p) => [x.at(p.x), y.length - y.at(p.y)]);
  area.addEventListener("pointermove", (event) => {
    const box = area.getBoundingClientRect(), left = event.clientX - box.left, top = event.clientY - box.top;
    let nearest = -1, least = Infinity;
    places.forEach(([px, py], i) => {
      const distance = (px - left) ** 2 + (py - top) ** 2;
      if (distance < least) [nearest, least] = [i, distance];
    });
    if (nearest < 0) return;
    const p = points[nearest];
    spot.setAttribute("cx", places[nearest][0]);
    spot.setAttribute("cy", places[nearest][1]);
    spot.setAttribute("visibility", "visible");
    const pairs = [[data.x_label || "x", data.x_names?.[p.x] || number(p.x, 6)], [data.y_label || "y", number(p.y, 6) + (p.error ? ` ± ${number(p.error)}` : "")]];
    if (data.series[p.series].name) pairs.unshift(["series", data.series[p.series].name]);
    tip(pairs, event.clientX, event.clientY);
  });
  area.addEventListener("pointerleave", () => {
    spot.setAttribute("visibility", "hidden");
    untip();
  });
}

// legend names the series; pointing at a name picks its line out.
function legend(parent, data, drawn, body) {
  const list = html(parent, "ul", { class: "legend" });
  data.series.forEach((s, i) => {
    const item = html(list, "li"), thumb = svg(item, "svg", { width: 26, height: 12, "aria-hidden": "true" });
    const style = styleOf(i);
    if (s.points) svg(thumb, "circle", { cx: 13, cy: 6, r: 2.7, fill: style.stroke });
    else svg(thumb, "path", { class: "series", ...style, d: "M0 6H26" });
    html(item, "span", {}, s.name || `series ${i}`);
    const pick = (on) => {
      body.classList.toggle("picking", on);
      for (const part of drawn[i]) part.classList.toggle("picked", on);
    };
    item.addEventListener("pointerenter", () => pick(true));
    item.addEventListener("pointerleave", () => pick(false));
  });
}
