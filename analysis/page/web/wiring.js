// Wiring diagrams: a graph in columns by layer.

const edgesMost = 1500, edgesAtFirst = 300; // drawn, and shown before the slider is moved
const nodePitch = 27, nodeHeight = 20; // px

function wiring(parent, data) {
  const edges = strongestEdges(data);
  const largest = edges.length ? Math.abs(edges[edges.length - 1].weight) : 0;
  const controls = edges.length ? thresholdControl(parent, edges, largest) : null;
  const board = boardOf(data, edges, parent.clientWidth || 1180);
  const picture = drawing(parent, board.width, board.height, heading(parent));
  const lower = svg(picture, "g"), reach = svg(picture, "g"), upper = svg(picture, "g");
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

// boardOf gives the nodes their places: columns by layer, each centred, within so much width if they fit.
function boardOf(data, edges, room) {
  const columns = [];
  const layers = [...new Set(data.nodes.map((n) => n.layer))].sort((a, b) => a - b);
  for (const layer of layers) columns.push(data.nodes.flatMap((n, i) => (n.layer === layer ? [i] : [])));
  const widths = columns.map((nodes) => 16 + Math.min(150, widest(nodes.map((i) => data.nodes[i].name))));
  const sum = widths.reduce((a, b) => a + b, 0);
  const gap = Math.max(28, Math.min(140, (Math.min(room, 1180) - 70 - sum) / Math.max(1, columns.length - 1)));
  const tall = nodePitch * Math.max(...columns.map((nodes) => nodes.length));
  const places = new Array(data.nodes.length);
  let left = 4;
  columns.forEach((nodes, c) => {
    const top = (tall - nodePitch * nodes.length) / 2;
    nodes.forEach((i, k) => { places[i] = { column: c, left, right: left + widths[c], y: top + (k + 0.5) * nodePitch }; });
    left += widths[c] + gap;
  });
  const back = edges.filter((e) => places[e.from].column >= places[e.to].column);
  const high = Math.max(0, ...edges.map((e) => bowOf(places[e.from], places[e.to])));
  for (const p of places) p.y += high;
  return { places, width: left - gap + (back.length ? 60 : 4), height: tall + high + 4 };
}

// bowOf is how far an edge's handles rise above the columns that it passes.
const bowOf = (from, to) => Math.max(0, Math.min(60, nodePitch * 0.7 * (to.column - from.column - 1)));

// curveOf is an edge's path: from the right of a node to the left of another or, to a node of the
// same or an earlier column, around on the right.
function curveOf(from, to) {
  if (from.column < to.column) {
    const reach = 0.45 * (to.left - from.right), bow = bowOf(from, to);
    return `M${from.right} ${from.y}C${from.right + reach} ${from.y - bow} ${to.left - reach} ${to.y - bow} ${to.left} ${to.y}`;
  }
  const out = Math.max(from.right, to.right) + 46, lift = from === to ? 9 : 0;
  return `M${from.right} ${from.y - lift}C${out} ${from.y - 2 * lift} ${out} ${to.y + 2 * lift} ${to.right + 7} ${to.y + lift}` +
    `m6 -4l-6 4l6 4`; // an arrowhead
}

function drawEdge(edge, board, largest, lower, reach) {
  const strength = Math.abs(edge.weight) / largest, d = curveOf(board.places[edge.from], board.places[edge.to]);
  edge.path = svg(lower, "path", {
    class: "edge", d, stroke: edge.weight < 0 ? palette.negative : palette.positive,
    "stroke-width": (0.7 + 3.3 * strength).toFixed(2), "stroke-opacity": (0.16 + 0.78 * strength).toFixed(3),
  });
  edge.reach = svg(reach, "path", { class: "reach", d });
}

function drawNode(parent, node, place) {
  const group = svg(parent, "g", { class: "node", tabindex: 0, role: "button", "aria-label": node.name });
  svg(group, "rect", { x: place.left, y: place.y - nodeHeight / 2, width: place.right - place.left, height: nodeHeight, rx: 4 });
  svg(group, "text", { x: (place.left + place.right) / 2, y: place.y }, cut(node.name, 150));
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
    return found.slice(0, 4).map((e) => `${data.nodes[other(e)].name} ${number(e.weight, 3)}`).join(", ") + (found.length > 4 ? `, and ${found.length - 4} more` : "");
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
      tip([["from", data.nodes[edge.from].name], ["to", data.nodes[edge.to].name], ["weight", number(edge.weight, 6)]], event.clientX, event.clientY);
    });
    edge.reach.addEventListener("pointerenter", () => light(graph, (e) => e === edge, [edge.from, edge.to]));
    edge.reach.addEventListener("pointerleave", () => {
      light(graph, null, []);
      untip();
    });
  }
}
