// The page: it asks for what the model does and shows it.

let running = null; // the run in progress

function say(text, failed = false) {
  const status = byID("status");
  status.textContent = text;
  status.classList.toggle("failed", failed);
}

// request is what the form asks for.
function request() {
  const value = (id) => byID(id).valueAsNumber || 0;
  const prompt = byID("prompt").value;
  const asked = { tokens: value("tokens"), temperature: value("temperature"), top_p: value("top-p"), seed: value("seed"), changes: state.changes };
  if (state.model.tokenizer) Object.assign(asked, { prompt, bos: byID("bos").checked });
  else asked.ids = prompt.split(/[\s,]+/).filter((word) => word !== "").map(Number);
  return asked;
}

// run asks for the texts, untouched and changed, and then for the chosen token again.
async function run() {
  running?.abort();
  looking?.abort(); // what it would say belongs to the run before
  const mine = running = new AbortController();
  state.runs = {};
  state.forced = null;
  writeAddress();
  byID("runs").replaceChildren();
  byID("stop").hidden = false;
  say("Running …");
  let seconds = 0, failure = null;
  try {
    await eachLine(await ask("explorer/run", request(), mine.signal), (event) => {
      if (event.token) {
        state.runs[event.run] ??= [];
        addToken(event.run, event.token);
      }
      if (event.stop) {
        seconds += event.seconds;
        addNext(event.run);
        runFacts(event);
      }
      if (event.forced) {
        state.forced = event.forced;
        markForced();
      }
    });
    say(`Done in ${seconds.toFixed(2)} s.`);
  } catch (error) {
    failure = error;
  }
  if (running !== mine) return;
  byID("stop").hidden = true;
  if (failure) say(failure.name === "AbortError" ? "Stopped." : failure.message, failure.name !== "AbortError");
  rechoose();
}

// runFacts says how a run went: bits a token of what the model was given.
function runFacts(event) {
  const scored = state.runs[event.run].filter((t) => t.probability !== null);
  const bits = scored.reduce((sum, t) => sum - Math.log2(t.probability), 0) / Math.max(1, scored.length);
  tokensOf(event.run).parentElement.querySelector("small").textContent = ` ${number(bits, 3)} bits a token, ${event.seconds.toFixed(2)} s`;
}

// rechoose looks again at the token that was chosen, if it is there.
function rechoose() {
  if (!state.chosen) return;
  const { run, position } = state.chosen;
  const known = state.runs[run] ? run : "untouched";
  if (!state.runs[known] || position > state.runs[known].length) {
    state.chosen = null;
    byID("detail").hidden = true;
    return;
  }
  state.chosen.run = known;
  markChosen();
  look();
}

async function begin() {
  try {
    state.model = await asked("explorer/model");
  } catch (error) {
    say(error.message, true);
    return;
  }
  const m = state.model;
  byID("access").hidden = true;
  byID("name").textContent = m.name;
  document.title = `${m.name}: live explorer`;
  byID("about").textContent = `${m.stream} stream (${m.sizes.join(" ")}), ${m.layers} layers of ${m.heads} heads, ${m.vocab} token ids, up to ${m.tokens} tokens`;
  if (!m.tokenizer) byID("prompt-label").textContent = `Token ids below ${m.vocab}, apart by spaces or commas (the model has no tokenizer)`;
  if (!byID("prompt").defaultValue) byID("prompt").defaultValue = m.tokenizer ? m.prompt || "\tif err != nil {\n\t\treturn" : "1 2 3";
  byID("begins").hidden = !m.tokenizer;
  byID("tokens").defaultValue = Math.min(byID("tokens").valueAsNumber, Math.floor(m.tokens / 2));
  readAddress();
  fillSites();
  showChanges();
  fillAnalyses().catch((error) => say(error.message, true));
  await run();
  const said = state.runs.untouched?.findIndex((t) => !t.prompt); // the first token that the model adds
  if (state.chosen || !(said > 0) || !byID("stop").hidden) return;
  state.chosen = { run: "untouched", position: said, byDefault: true };
  rechoose();
}

byID("form").addEventListener("submit", (event) => {
  event.preventDefault();
  state.chosen && (state.chosen.target = state.chosen.against = undefined);
  run();
});
byID("prompt").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byID("form").requestSubmit();
});
byID("site").addEventListener("change", showAxes);
byID("add").addEventListener("click", () => {
  const change = newChange();
  if (change) makeChange(change);
  else say("The change wants a number.", true);
});
byID("stop").addEventListener("click", () => running?.abort());
byID("token").addEventListener("change", () => {
  accessToken = byID("token").value;
  begin();
});
begin();
