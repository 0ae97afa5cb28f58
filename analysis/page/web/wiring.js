// Wiring diagrams: a graph in rows by layer, the first at the top.

const edgesMost = 1500, edgesAtFirst = 80; // drawn, and shown before the slider is moved
const nodeMost = 150, nodeGap = 6, nodeHeight = 20; // px

function wiring(parent, data) {
  const edges = strongestEdges(data);
  const largest = edges.length ? Math.abs(edges[edges.length - 1].weight) : 0;
  const controls = edges.length ? thresholdControl(parent, edges, largest) : null;
  const board = boardOf(data, edges, parent.clientWidth || 1180);
  const picture = drawing(parent, board.width, board.height, heading(parent));
  const lower = svg(picture, "g"), reach = svg(picture, "g"), upper = svg(picture, "g");
  for (const row of board.rows) svg(upper, "text", { class: "row", x: board.left, y: row.y }, cut(row.name, 150));
  for (const edge of edges) drawEdge(edge, board, largest, lower, reach);
  const nodes = data.nodes.map((node, i) => drawNode(upper, node, board.places[i]));
  html(parent, "p", { class: "note" }, wiringNote(data, edges, largest));
  const graph = { data, edges, nodes, threshold: 0 };
  nodesAnswer(graph);
  edgesAnswer(graph);
  if (controls) controls.follow(graph);
}

// strongestEdges are the edges that are drawn, the strongest last.
function strongestEdges(data) {
  const edges = (data.edges || []).filter((e) => finite(e.weight) && e.weight !== 0).map((e) => ({ ...e }));
  edges.sort((a, b) => Math.abs(a.weight) - Math.abs(b.weight));
  return edges.slice(-edgesMost);
}

function wiringNote(data, edges, largest) {
  if (!edges.length) return "no edges";
  const all = (data.edges || []).length;
  return `width and opacity: |weight|, up to ${number(largest)}; red: above 0, blue: below` + (all > edgesMost ? `; the ${edges.length} strongest of ${all} edges` : "");
}

// thresholdControl is the slider on |weight|.
function thresholdControl(parent, edges, largest) {
  const label = html(html(parent, "div", { class: "controls" }), "label", {}, "|weight| at least ");
  const slider = html(label, "input", { type: "range", min: 0, max: 1000, step: 1, value: 0 });
  const output = html(label, "output");
  const first = edges[Math.max(0, edges.length - edgesAtFirst)];
  if (edges.length > edgesAtFirst) slider.value = Math.min(1000, Math.ceil(Math.abs(first.weight) / largest * 1000));
  const follow = (graph) => {
    const move = () => {
      graph.threshold = slider.value === "1000" ? largest : largest * Number(slider.value) / 1000;
      let shown = 0;
      for (const e of graph.edges) {
        e.weak = Math.abs(e.weight) < graph.threshold;
        if (!e.weak) shown++;
        e.path.classList.toggle("weak", e.weak);
        e.reach.classList.toggle("weak", e.weak);
      }
      output.textContent = `${number(graph.threshold, 3)}: ${shown} of ${graph.edges.length} edges`;
    };
    slider.addEventListener("input", move);
    move();
  };
  return { follow };
}

// boardOf places the nodes in rows by layer, within a width of room px. What the names of a row have in common is written
// once, to the left of the row.
function boardOf(data, edges, room) {
  const layers = [...new Set(data.nodes.map((n) => n.layer))].sort((a, b) => a - b);
  const rows = layers.map((layer) => captionsOf(data, data.nodes.flatMap((n, i) => (n.layer === layer ? [i] : []))));
  const left = Math.max(0, ...rows.map((row) => (row.name ? Math.min(150, widest([row.name])) + 14 : 0)));
  const space = Math.max(300, Math.min(room, 1180) - left - 70 - (data.nodes.length > rows.length ? 130 : 0)), pitch = Math.max(32, Math.min(62, 2600 / rows.length));
  const places = new Array(data.nodes.length);
  let width = 0;
  for (const row of rows) {
    const n = row.nodes.length, most = space / n;
    row.box = Math.max(4, Math.min(nodeMost, widest(row.captions) + 16, most - nodeGap));
    row.pitch = Math.min(most, Math.max(2.2 * row.box, 96));
    width = Math.max(width, row.pitch * n);
  }
  const alone = (row, r) => row.nodes.length === 1 && r > 0 && r < rows.length - 1 && data.nodes.length > rows.length;
  const aside = Math.max(0, ...rows.filter(alone).map((row) => row.box)); // out of the way of others' edges
  rows.forEach((row, r) => {
    row.y = (r + 0.5) * pitch;
    row.nodes.forEach((i, k) => {
      const x = alone(row, r) ? left + width + row.box / 2 : left + width / 2 + (k - (row.nodes.length - 1) / 2) * row.pitch;
      places[i] = { row: r, x, y: row.y, half: row.box / 2, caption: row.captions[k] };
    });
  });
  const board = { places, rows, width: left + width + aside, height: pitch * rows.length + 4, inner: width, first: 0, last: left + width + aside };
  const reach = edges.map((e) => edgePoints(e, board).flatMap(([x], i) => (i === 0 || i === 3 ? [x] : [0.25 * places[e.from].x + 0.75 * x])));
  const over = Math.max(4, 6 - Math.min(0, ...reach.flat())), beyond = Math.max(4, Math.max(0, ...reach.flat()) + 10 - board.width);
  for (const p of places) p.x += over;
  return { ...board, first: over, last: over + board.last, left: over, width: board.width + over + beyond };
}

// captionsOf returns the texts in the boxes of a row: the names or, if all begin with the same text up to their last point or
// space, what follows it.
function captionsOf(data, nodes) {
  const captions = nodes.map((i) => data.nodes[i].name), first = captions[0];
  const common = first.slice(0, Math.max(first.lastIndexOf("."), first.lastIndexOf(" ")) + 1);
  const alike = nodes.length > 1 && common && captions.every((c) => c.startsWith(common) && c.length > common.length && !/[. ]/.test(c.slice(common.length)));
  if (!alike) return { nodes, captions, name: "" };
  return { nodes, captions: captions.map((c) => c.slice(common.length)), name: common.replace(/[. ]+$/, "") };
}

// edgePoints returns the ends of an edge and the two handles of its Bézier curve. To a node in a later row it leads from the foot
// of a node to the head of the other, around the rows between; to one in the same or an earlier row, around the right side.
function edgePoints(edge, board) {
  const from = board.places[edge.from], to = board.places[edge.to], apart = to.row - from.row;
  if (apart <= 0) {
    const lift = edge.from === edge.to ? 9 : 0, out = Math.max(from.x + from.half, to.x + to.half) + 46;
    return [[from.x + from.half, from.y - lift], [out, from.y - 2 * lift], [out, to.y + 2 * lift], [to.x + to.half + 7, to.y + lift]];
  }
  const foot = from.y + nodeHeight / 2, head = to.y - nodeHeight / 2, reach = 0.45 * (head - foot);
  let bow = apart > 1 ? Math.min(board.inner / 3, 26 * apart) * Math.max(0.25, 1 - Math.abs(to.x - from.x) / 300) : 0;
  if (to.x < from.x || (to.x === from.x && (edge.from + edge.to) % 2)) bow = -bow;
  if ([from.x, to.x].some((x) => x + 0.75 * bow < board.first || x + 0.75 * bow > board.last)) bow = -bow;
  return [[from.x, foot], [from.x + bow, foot + reach], [to.x + bow, head - reach], [to.x, head]];
}

// curveOf is an edge's path, with an arrowhead where it does not lead down.
function curveOf(edge, board) {
  const [a, b, c, d] = edgePoints(edge, board).map((p) => p.map((v) => v.toFixed(1)).join(" "));
  return `M${a}C${b} ${c} ${d}` + (board.places[edge.from].row < board.places[edge.to].row ? "" : "m6 -4l-6 4l6 4");
}

function drawEdge(edge, board, largest, lower, reach) {
  const strength = Math.abs(edge.weight) / largest, d = curveOf(edge, board);
  edge.path = svg(lower, "path", {
    class: "edge", d, stroke: edge.weight < 0 ? palette.negative : palette.positive,
    "stroke-width": (0.7 + 3.3 * strength).toFixed(2), "stroke-opacity": (0.16 + 0.78 * strength).toFixed(3),
  });
  edge.reach = svg(reach, "path", { class: "reach", d });
}

function drawNode(parent, node, place) {
  const group = svg(parent, "g", { class: "node", tabindex: 0, role: "button", "aria-label": node.name });
  svg(group, "rect", { x: place.x - place.half, y: place.y - nodeHeight / 2, width: 2 * place.half, height: nodeHeight, rx: 4 });
  svg(group, "text", { x: place.x, y: place.y }, cut(place.caption, Math.max(10, 2 * place.half - 6)));
  return group;
}

// light shows some edges and nodes and dims the others; without any, all are as before.
function light(graph, isLit, litNodes) {
  for (const e of graph.edges) {
    e.path.classList.toggle("lit", isLit !== null && isLit(e));
    e.path.classList.toggle("dim", isLit !== null && !isLit(e));
  }
  const near = new Set(litNodes);
  if (isLit !== null) graph.edges.filter((e) => !e.weak && isLit(e)).forEach((e) => near.add(e.from).add(e.to));
  graph.nodes.forEach((group, i) => {
    group.classList.toggle("lit", litNodes.includes(i));
    group.classList.toggle("dim", isLit !== null && !near.has(i));
  });
}

// nodesAnswer lights the edges of the node under the mouse, or in focus.
function nodesAnswer(graph) {
  const { data, nodes } = graph;
  const leave = () => {
    light(graph, null, []);
    untip();
  };
  nodes.forEach((group, i) => {
    const enter = () => {
      light(graph, (e) => e.from === i || e.to === i, [i]);
      tipAt(nodeWords(graph, i), group);
    };
    group.addEventListener("pointerenter", enter);
    group.addEventListener("focus", enter);
    group.addEventListener("pointerleave", leave);
    group.addEventListener("blur", leave);
  });
}

// nodeWords lists a node's strongest edges that are shown.
function nodeWords({ data, edges }, i) {
  const list = (mine, other) => {
    const found = edges.filter((e) => !e.weak && mine(e)).reverse();
    return found.slice(0, 4).map((e) => `${data.nodes[other(e)].name}${e.via ? ` (${e.via})` : ""} ${number(e.weight, 3)}`).join(", ") + (found.length > 4 ? `, and ${found.length - 4} more` : "");
  };
  const pairs = [["node", data.nodes[i].name]];
  const reads = list((e) => e.to === i, (e) => e.from), writes = list((e) => e.from === i, (e) => e.to);
  if (reads) pairs.push(["from", reads]);
  if (writes) pairs.push(["to", writes]);
  return pairs;
}

// edgesAnswer lights the edge under the mouse and tells its weight.
function edgesAnswer(graph) {
  const { data } = graph;
  for (const edge of graph.edges) {
    edge.reach.addEventListener("pointermove", (event) => {
      tip([["from", data.nodes[edge.from].name], ["to", data.nodes[edge.to].name + (edge.via ? ` as ${edge.via}` : "")], ["weight", number(edge.weight, 6)]], event.clientX, event.clientY);
    });
    edge.reach.addEventListener("pointerenter", () => light(graph, (e) => e === edge, [edge.from, edge.to]));
    edge.reach.addEventListener("pointerleave", () => {
      light(graph, null, []);
      untip();
    });
  }
}
