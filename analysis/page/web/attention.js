// Attention patterns: tokens that are shaded by what a token attends to.

const thumbsMost = 256; // heads with a small picture

function attention(parent, data) {
  const heads = namesOf(data.heads, data.patterns.length);
  const all = data.patterns.flat(), signed = extent(all)[0] < 0;
  const colours = colouring(all, signed, !signed);
  const state = { head: 0, token: data.tokens.length - 1, pinned: false, inward: false };
  const controls = attentionControls(parent, heads);
  const tokens = tokenRow(parent, data);
  const note = html(parent, "p", { class: "note", "aria-live": "polite" });
  const thumbs = heads.length > 1 ? thumbnails(parent, data, heads, colours) : [];
  const pattern = patternMap(parent, data, colours);
  const show = () => {
    const weights = weightsOf(data, state);
    shade(tokens, weights, state);
    note.textContent = inWords(data, weights, state);
    thumbs.forEach((thumb, h) => thumb.setAttribute("aria-pressed", String(h === state.head)));
    controls.head.value = String(state.head);
  };
  const choose = (head) => {
    state.head = head;
    show();
    pattern(head);
  };
  controls.head.addEventListener("change", () => choose(Number(controls.head.value)));
  controls.way.addEventListener("change", () => {
    state.inward = controls.way.value === "in";
    show();
  });
  thumbs.forEach((thumb, h) => thumb.addEventListener("click", () => choose(h)));
  tokensAnswer(tokens, data, state, show);
  choose(0);
}

// weightsOf are the weights between the chosen token and each token.
function weightsOf(data, { head, token, inward }) {
  const pattern = data.patterns[head];
  return inward ? pattern.map((keys) => keys[token]) : pattern[token];
}

function attentionControls(parent, heads) {
  const box = html(parent, "div", { class: "controls" });
  const select = (text) => html(html(box, "label", {}, text), "select");
  const head = select("head "), way = select("shade ");
  heads.forEach((name, h) => html(head, "option", { value: h }, name));
  html(way, "option", { value: "out" }, "what the token attends to");
  html(way, "option", { value: "in" }, "what attends to the token");
  return { head, way };
}

function tokenRow(parent, data) {
  const row = html(parent, "div", { class: "tokens" });
  return data.tokens.map((token) => html(row, "button", { class: "token", type: "button" }, token));
}

// shade colours the tokens: opacity is the weight relative to the largest one.
function shade(tokens, weights, { token, pinned }) {
  const largest = weights.reduce((most, v) => (finite(v) ? Math.max(most, Math.abs(v)) : most), 0);
  tokens.forEach((element, i) => {
    const share = finite(weights[i]) && largest > 0 ? Math.abs(weights[i]) / largest : 0;
    element.style.setProperty("--share", share.toFixed(3));
    element.classList.toggle("strong", share > 0.5);
    element.classList.toggle("against", weights[i] < 0);
    element.classList.toggle("from", i === token);
    element.classList.toggle("pinned", pinned && i === token);
  });
}

// inWords says what is shaded, the largest weights first.
function inWords(data, weights, { token, inward, pinned }) {
  const order = weights.map((v, i) => [v, i]).filter(([v]) => finite(v) && v !== 0);
  order.sort((a, b) => Math.abs(b[0]) - Math.abs(a[0]));
  const listed = order.slice(0, 6).map(([v, i]) => `${data.tokens[i]} (${i}) ${number(v, 3)}`).join(",  ");
  const verb = inward ? "is attended to by" : "attends to";
  return `${data.tokens[token]} (${token}) ${verb}:  ${listed || "nothing"}${order.length > 6 ? ", …" : ""}${pinned ? "  (held: click it again to let go)" : ""}`;
}

// tokensAnswer follows mouse and focus; a click holds a token, so that others can be looked at.
function tokensAnswer(tokens, data, state, show) {
  const from = (i) => {
    if (!state.pinned && state.token !== i) {
      state.token = i;
      show();
    }
  };
  const tell = (i, element) => {
    const weight = weightsOf(data, state)[i];
    tipAt([["token", `${data.tokens[i]} (${i})`], [state.inward ? "attends to" : "attended to by", `${data.tokens[state.token]} (${state.token})`], ["weight", number(weight, 6)]], element);
  };
  tokens.forEach((element, i) => {
    element.addEventListener("pointerenter", () => {
      from(i);
      tell(i, element);
    });
    element.addEventListener("pointerleave", untip);
    element.addEventListener("focus", () => from(i));
    element.addEventListener("click", () => {
      state.pinned = !(state.pinned && state.token === i);
      state.token = i;
      show();
    });
  });
}

// thumbnails are small pictures of the heads' patterns, to choose one.
function thumbnails(parent, data, heads, colours) {
  const box = html(parent, "div", { class: "heads" });
  return heads.slice(0, thumbsMost).map((name, h) => {
    const button = html(box, "button", { type: "button", title: name });
    button.append(raster(data.patterns[h], colours, 128, 128));
    html(button, "span", {}, name);
    return button;
  });
}

// patternMap is the chosen head's pattern as a heatmap, drawn once it is opened.
function patternMap(parent, data, colours) {
  const details = html(parent, "details");
  html(details, "summary", {}, "the pattern as a heatmap");
  const box = html(details, "div");
  let wanted = 0, drawn = -1;
  const draw = () => {
    if (!details.open || drawn === wanted) return;
    box.replaceChildren();
    heatmap(box, { rows: data.tokens, columns: data.tokens, x_label: "key", y_label: "query", values: data.patterns[wanted] }, colours);
    drawn = wanted;
  };
  details.addEventListener("toggle", draw);
  return (head) => {
    wanted = head;
    draw();
  };
}
