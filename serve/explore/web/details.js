// A chosen token: alternatives, who wrote its logit, the lens, attention and wiring.

let looking = null; // the request in progress

// choose looks at a token: at what the model said before it.
function choose(run, position, target, against) {
  if (position === 0) return say("Nothing comes before the first token: choose another.");
  state.chosen = { run, position, target, against };
  markChosen();
  return look();
}

async function look() {
  if (!state.chosen || !state.runs[state.chosen.run]) return;
  writeAddress();
  const { run, position } = state.chosen, tokens = state.runs[run];
  const target = state.chosen.target ?? tokens[position]?.id;
  looking?.abort();
  const mine = looking = new AbortController();
  const panel = byID("detail");
  panel.hidden = false;
  panel.classList.add("busy");
  const request = { ids: tokens.slice(0, position).map((t) => t.id), position: position - 1, changes: state.changes };
  if (target !== undefined) request.target = target;
  if (state.chosen.against !== undefined) request.against = state.chosen.against;
  try {
    const begin = performance.now(), views = await asked("explorer/token", request, mine.signal);
    showViews(panel, views, tokens.slice(0, position), request);
    say(`Looked at token ${position} in ${((performance.now() - begin) / 1000).toFixed(2)} s.`);
  } catch (error) {
    if (error.name !== "AbortError") say(error.message, true);
  } finally {
    if (looking === mine) panel.classList.remove("busy");
  }
}

function showViews(panel, views, before, request) {
  panel.replaceChildren();
  const { target, against } = views.untouched, last = before[before.length - 1];
  html(panel, "h2", {}, `${target.label} after ${last.label} (token ${last.position})`);
  const what = against ? `the logit of ${target.label} minus the logit of ${against.label}` : `the logit of ${target.label}`;
  const all = views.changed ? [["as it is", views.untouched], ["with the changes", views.changed]] : [["", views.untouched]];
  block(panel, "What comes next", all, (box, view) => alternatives(box, view, view === views.changed ? views.untouched : null));
  block(panel, `Who wrote ${what}`, all, (box, view) => contributions(box, view.attribution, view === views.changed ? views.untouched.attribution : null));
  block(panel, "The lens: what the model would say if nothing more were written", all, (box, view) => lens(box, view));
  block(panel, "What the heads attend to", all, (box, view) => heads(box, view, before));
  patternsOf(panel, request);
  block(panel, "What each site reads: an edge is the share that a writer has of it; the shares of a site add up to 1", all, (box, view) => wiringOf(box, view), "wide");
}

// block is a part of the panel: one view, or two next to each other.
function block(panel, title, views, draw, kind = "") {
  const part = html(panel, "div", { class: `block ${kind}` });
  html(part, "h3", {}, title);
  const grid = html(part, "div", { class: views.length > 1 ? "views two" : "views" });
  for (const [name, view] of views) {
    const box = html(grid, "div", { class: "view" });
    if (name) html(box, "p", { class: "quiet" }, name);
    draw(box, view);
  }
}

function table(parent, header, right = []) {
  const t = html(html(parent, "div", { class: "scroll" }), "table");
  const row = html(html(t, "thead"), "tr");
  header.forEach((text, i) => html(row, "th", { scope: "col", class: right.includes(i) ? "right" : "" }, text));
  return html(t, "tbody");
}

// was adds the value without the changes to a cell, if it is known and differs from the value now.
function was(cell, value, now) {
  if (finite(value) && number(value, 3) !== number(now, 3)) html(cell, "span", { class: "was" }, ` was ${number(value, 3)}`);
}

// alternatives are the likeliest tokens: one becomes the target, another is subtracted. Without the changes they are
// those of the view before.
function alternatives(box, view, before) {
  const shown = view.next.some((a) => a.id === view.target.id) ? view.next : [...view.next, view.target];
  const body = table(box, ["token", "probability", "", ""], [1]);
  for (const a of shown) {
    const row = html(body, "tr");
    const choice = html(html(row, "td", { class: "mono" }), "button", { type: "button", "aria-pressed": String(a.id === view.target.id), "aria-label": `take apart the logit of ${a.label}` }, a.label);
    choice.addEventListener("click", () => choose(state.chosen.run, state.chosen.position, a.id));
    const cellOfP = html(row, "td", { class: "right" }, number(a.probability, 3));
    was(cellOfP, before && [...before.next, before.target].find((b) => b.id === a.id)?.probability, a.probability);
    bar(html(row, "td", { class: "bar-cell" }), a.probability, 0, 1, "chance");
    const cell = html(row, "td");
    if (a.id === view.target.id) html(cell, "span", { class: "quiet" }, `logit ${number(view.target.logit, 4)}, rank ${view.target.rank + 1}`);
    else {
      const less = html(cell, "button", { type: "button", "aria-pressed": String(a.id === view.against?.id) }, a.id === view.against?.id ? "subtracted" : "subtract");
      less.addEventListener("click", () => choose(state.chosen.run, state.chosen.position, view.target.id, a.id === view.against?.id ? undefined : a.id));
    }
  }
}

// bar draws a value as a bar from 0, on a scale from low to high.
function bar(cell, value, low, high, kind = "") {
  const picture = svg(cell, "svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" });
  const at = (v) => 100 * (v - low) / (high - low || 1);
  svg(picture, "rect", { class: kind, x: Math.min(at(0), at(value)), y: 1, width: Math.max(0.4, Math.abs(at(value) - at(0))), height: 8, fill: value < 0 ? palette.negative : palette.positive });
}

let listed = 0; // which of the lists of contributions is shown

// contributions list who wrote the logit, by site, head or any part; before is the same without the changes.
function contributions(box, a, before) {
  const choice = html(box, "div", { class: "controls" });
  const list = html(box, "div");
  const show = (terms) => {
    list.replaceChildren();
    const total = a.logit - a.constant - a.remainder, others = total - terms.reduce((sum, t) => sum + t.value, 0);
    const rest = [...(terms === a.writers ? [] : [{ name: "all other parts", value: others }]), { name: "norms' biases", value: a.constant },
      { name: before ? "rounding, and what changes wrote" : "rounding", value: a.remainder }];
    const all = [...terms, ...rest], [low, high] = extent([all.map((t) => t.value), [0, a.logit]]);
    const body = table(list, ["what wrote it", "", "logit", ""], [2]);
    const old = (term) => before && (terms === a.writers ? before.writers : before.contributions).find((t) => t.name === term.name)?.value;
    for (const term of all) contribution(body, term, low, high, old(term));
    contribution(body, { name: "the logit", value: a.logit }, low, high, before?.logit);
  };
  const lists = [["sites, in order", a.writers], ["largest parts", a.contributions], ["heads", a.contributions.filter((t) => t.part === "head")]];
  lists.forEach(([name, terms], i) => {
    const button = html(choice, "button", { type: "button", "aria-pressed": String(i === listed) }, name);
    button.addEventListener("click", () => {
      listed = i;
      for (const other of choice.children) other.setAttribute("aria-pressed", String(other === button));
      show(terms);
    });
  });
  show(lists[listed][1]);
}

function contribution(body, term, low, high, before) {
  const row = html(body, "tr");
  html(row, "td", {}, term.name);
  bar(html(row, "td", { class: "bar-cell" }), term.value, low, high);
  was(html(row, "td", { class: "right" }, number(term.value, 3)), before, term.value);
  const cell = html(row, "td");
  if (!term.change) return;
  const isOff = state.changes.some((c) => sameChange(c, term.change) && c.scale === 0);
  const off = html(cell, "button", { type: "button", "aria-label": `switch off ${term.name}`, "aria-pressed": String(isOff) }, isOff ? "is off" : "off");
  off.disabled = isOff;
  off.addEventListener("click", () => makeChange(term.change));
}

// lens lists the likeliest tokens after each writer, the last first.
function lens(box, view) {
  const body = table(box, ["after", "probability", "rank", "likeliest"], [1, 2]);
  for (const point of [...view.lens].reverse()) {
    const row = html(body, "tr");
    html(row, "td", {}, point.after);
    html(row, "td", { class: "right" }, number(point.probability, 3));
    html(row, "td", { class: "right" }, String(point.rank + 1));
    const cell = html(row, "td", { class: "mono" });
    for (const top of point.top) {
      const guess = html(cell, "span", { class: `guess ${top.id === view.target.id ? "is" : ""} ${top.probability > 0.6 ? "strong" : ""}`, title: number(top.probability, 3) }, top.label);
      guess.style.setProperty("--share", top.probability.toFixed(3));
    }
  }
  if (view.lens.some((point) => point.keys)) keys(box, view);
}

// keys are the logit after each writer by the key vectors that the stream is read out by.
function keys(box, view) {
  const details = html(box, "details");
  html(details, "summary", {}, "by key of the readout");
  const points = view.lens.filter((point) => point.keys);
  opened(details, (figure) => drawings.heatmap(figure, { rows: points.map((p) => p.after), values: points.map((p) => p.keys), x_label: "key", y_label: "after", diverging: true }));
}

// opened draws a figure once its details are open.
function opened(details, draw) {
  details.addEventListener("toggle", () => {
    if (details.open && !details.querySelector("figure")) draw(html(details, "figure"));
  });
}

// heads are a map of all heads' attention at the position.
function heads(box, view, before) {
  const rows = view.attention.flatMap((a) => a.names);
  const columns = before.map((t) => `${t.position} ${t.label}`);
  drawings.heatmap(html(box, "figure"), { rows, columns, values: view.attention.flatMap((a) => a.heads), x_label: "token", y_label: "head" });
}

// patternsOf shows the whole patterns of a layer once they are asked for.
function patternsOf(panel, request) {
  const details = html(panel, "details");
  html(details, "summary", {}, "the patterns of a whole layer");
  const select = html(html(html(details, "div", { class: "controls" }), "label", {}, "layer "), "select");
  html(select, "option", { value: "" }, "choose one");
  for (let layer = 0; layer < state.model.layers; layer++) html(select, "option", { value: layer }, String(layer));
  const box = html(details, "div", { class: "views" });
  select.addEventListener("change", async () => {
    if (select.value === "") return;
    try {
      const { ids, position, changes } = request;
      const figures = await asked("explorer/attention", { ids, position, changes, layer: Number(select.value) });
      box.replaceChildren();
      for (const [run, data] of Object.entries(figures).sort().reverse()) {
        const figure = html(box, "figure");
        html(figure, "figcaption", {}, `Layer ${select.value} ${runNames[run]}`);
        drawings.attention(figure, data);
      }
    } catch (error) {
      say(error.message, true);
    }
  });
}

// wiringOf draws the diagram with short names; a box to tick shows heads one by one.
function wiringOf(box, view) {
  const short = (name) => name.replace(/^blocks\.(\d+)\./, "$1 ").replace("attention", "attn").replace("feedforward", "ffn").replace("embedding", "embed");
  const label = html(box, "label"), heads = html(label, "input", { type: "checkbox", class: "by-head" }), figure = html(box, "figure");
  html(label, "span", {}, " heads one by one");
  const draw = () => {
    const data = heads.checked ? view.reads_by_head : view.reads;
    figure.replaceChildren();
    drawings.wiring(figure, { ...data, nodes: data.nodes.map((n) => ({ ...n, name: short(n.name) })) });
  };
  heads.addEventListener("change", draw);
  draw();
}
