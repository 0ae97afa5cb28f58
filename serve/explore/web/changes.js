// Changes: what of the model is switched off, scaled or steered.

const byID = (id) => document.getElementById(id);
const state = { model: null, changes: [], runs: {}, forced: null, chosen: null, against: null };

// changeWords says what a change does, without by how much.
function changeWords(change) {
  const at = Object.entries(change.at || {}).map(([axis, index]) => ` ${axis} ${index}`).join("");
  const tokens = change.tokens ? `, tokens ${change.tokens[0]} to ${change.tokens[1]}` : "";
  const steer = change.add ? ` + direction ${change.add.minus ? `from “${change.add.minus}” ` : ""}to “${change.add.plus}”` : "";
  return change.activation + at + tokens + steer;
}

const sameChange = (a, b) => changeWords(a) === changeWords(b);

// makeChange adds a change, replacing one to the same entries, and runs again.
function makeChange(change) {
  const known = state.changes.findIndex((c) => sameChange(c, change));
  if (known >= 0) state.changes[known] = change;
  else state.changes.push(structuredClone(change));
  showChanges();
  run();
}

function showChanges() {
  const list = byID("change-list");
  list.replaceChildren();
  byID("no-changes").hidden = state.changes.length > 0;
  state.changes.forEach((change, i) => {
    const item = html(list, "li");
    html(item, "code", {}, changeWords(change));
    const label = html(item, "label", {}, change.add ? "times " : "scale ");
    const input = html(label, "input", { type: "number", step: "0.1", value: change.add ? change.add.times : change.scale });
    input.addEventListener("change", () => {
      if (!finite(input.valueAsNumber)) return;
      if (change.add) change.add.times = input.valueAsNumber;
      else change.scale = input.valueAsNumber;
      run();
    });
    const remove = html(item, "button", { type: "button", "aria-label": `remove the change of ${changeWords(change)}` }, "remove");
    remove.addEventListener("click", () => {
      state.changes.splice(i, 1);
      showChanges();
      run();
    });
  });
}

// fillSites lists what can be changed.
function fillSites() {
  const select = byID("site");
  select.replaceChildren();
  for (const site of state.model.sites) html(select, "option", { value: site.name }, site.name);
  const preferred = state.model.sites.find((s) => s.name.endsWith(".attention.stream"));
  if (preferred) select.value = preferred.name;
  showAxes();
  byID("steering").hidden = !state.model.tokenizer;
}

function showAxes() {
  const box = byID("axes"), site = state.model.sites.find((s) => s.name === byID("site").value);
  box.replaceChildren();
  site.axes.forEach((axis, i) => {
    if (axis === "token") return;
    html(html(box, "label", {}, `${axis} `), "input", { type: "number", min: 0, max: site.shape[i] - 1, placeholder: "all", "data-axis": axis });
  });
}

// newChange returns the change that the form describes, or null if its number is missing.
function newChange() {
  const change = { activation: byID("site").value, at: {} };
  for (const input of byID("axes").querySelectorAll("input")) {
    if (input.value !== "") change.at[input.dataset.axis] = input.valueAsNumber;
  }
  const from = byID("from").value, to = byID("to").value;
  if (from !== "" || to !== "") change.tokens = [Number(from || 0), Number(to || state.model.tokens - 1)];
  if (document.querySelector("input[name=way]:checked").value === "scale") {
    change.scale = byID("scale").valueAsNumber;
    return finite(change.scale) ? change : null;
  }
  change.add = { times: byID("times").valueAsNumber, plus: byID("plus").value, minus: byID("minus").value };
  return finite(change.add.times) ? change : null;
}
