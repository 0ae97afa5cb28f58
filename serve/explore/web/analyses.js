// Analyses: a form for the settings of each, and what it found.

let analysing = null; // the request in progress

// fillAnalyses lists the analyses that the model has.
async function fillAnalyses() {
  state.analyses = await asked("explorer/analyses");
  byID("analysis").replaceChildren();
  for (const a of state.analyses) html(byID("analysis"), "option", { value: a.name }, a.name);
  showSettings();
}

// showSettings makes a field for each setting of the chosen analysis; the prompt is the page's to begin with.
function showSettings() {
  const chosen = state.analyses.find((a) => a.name === byID("analysis").value), box = byID("settings");
  byID("summary").textContent = `${chosen.summary}. ${(chosen.notes || "").replace(/\s+/g, " ")}`;
  box.replaceChildren();
  const begin = { prompt: state.model.tokenizer ? byID("prompt").value : "", ids: state.model.tokenizer ? "" : byID("prompt").value };
  for (const key of chosen.settings) if (!key.local) settingField(box, key, begin[key.name] ?? "");
}

const none = /^(0|""|null|false)?$/; // defaults not worth showing

function settingField(box, key, value) {
  const setting = html(box, "div", { class: "setting" }), label = html(setting, "label", {}, `${key.name.replace(/_/g, " ")} `);
  html(setting, "small", {}, key.help.replace(/[<>]/g, ""));
  if (key.type === "true or false") {
    const select = html(label, "select", { "data-key": key.name, "data-type": key.type });
    for (const text of ["", "true", "false"]) html(select, "option", { value: text }, text || "default");
    return;
  }
  const field = html(label, "textarea", { rows: 1, spellcheck: "false", "data-key": key.name, "data-type": key.type, placeholder: none.test(key.default) ? "" : key.default });
  field.value = field.dataset.begin = value;
}

// settingOf converts the text of a field to a JSON value of the setting's type.
function settingOf(text, type) {
  if (/^(integer|number)/.test(type)) return Number(text);
  if (type === "true or false") return text === "true";
  if (!/^(list|map)/.test(type)) return text;
  const json = parsed(text);
  if (json && typeof json === "object") return json;
  const parts = type.startsWith("map") ? text.split(",").map((part) => part.split("=")) : text.split(type === "list of strings" ? "," : /[\s,]+/);
  if (type.startsWith("map")) return Object.fromEntries(parts.map(([name, n]) => [name.trim(), Number(n)]));
  return parts.filter((part) => part !== "").map((part) => (type === "list of integers" ? Number(part) : part.trim()));
}

async function analyse() {
  const body = {}, box = byID("analysed"), name = byID("analysis").value;
  const filled = [...byID("settings").querySelectorAll("[data-key]")].filter((field) => field.value !== "");
  const severalTexts = filled.some((field) => field.dataset.key === "prompts" || field.dataset.key === "rows" && field.placeholder === "");
  for (const field of filled) {
    if (severalTexts && field.value === field.dataset.begin) continue; // the page's prompt, where others are asked for
    body[field.dataset.key] = settingOf(field.value, field.dataset.type);
  }
  analysing?.abort();
  const mine = analysing = new AbortController(), begin = performance.now();
  box.classList.add("busy");
  byID("analysis-status").textContent = "Running …";
  try {
    showReport(box, await asked(`explorer/analyses/${name}`, body, mine.signal));
    byID("analysis-status").textContent = `${name}: ${((performance.now() - begin) / 1000).toFixed(1)} s.`;
  } catch (error) {
    if (error.name !== "AbortError") byID("analysis-status").textContent = error.message;
  } finally {
    if (analysing === mine) box.classList.remove("busy");
  }
}

// showReport shows the sections of a report as a page of analyze does.
function showReport(box, report) {
  box.replaceChildren();
  html(box, "h3", {}, report.title);
  html(box, "p", { class: "quiet" }, report.about);
  for (const section of report.sections) {
    html(box, "h4", {}, section.heading);
    for (const text of section.paragraphs || []) html(box, "p", {}, text);
    for (const data of section.figures || []) {
      const figure = html(box, "figure", { class: data.kind });
      if (data.title) html(figure, "figcaption", {}, data.title);
      if (data.table) cells(figure, data.table);
      else drawings[data.kind](figure, data.data);
    }
  }
}

// cells shows a table of texts.
function cells(figure, data) {
  const right = [...data.align].flatMap((letter, i) => (letter === "r" ? [i] : []));
  const body = table(figure, data.header || [], right);
  for (const texts of data.rows || []) {
    const row = html(body, "tr");
    texts.forEach((text, i) => html(row, "td", { class: right.includes(i) ? "right" : "" }, text));
  }
  if (data.note) html(figure, "p", {}, data.note);
}

byID("analysis").addEventListener("change", showSettings);
byID("analyse").addEventListener("click", analyse);
