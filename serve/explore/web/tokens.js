// The texts: tokens as buttons, those of the untouched run and of the changed one.

const runNames = { untouched: "as it is", changed: "with the changes" };

// tokensOf returns the element that holds a run's tokens, and makes it if there is none.
function tokensOf(run) {
  const known = document.querySelector(`.run[data-run=${run}] .tokens`);
  if (known) return known;
  const box = html(byID("runs"), "div", { class: "run", "data-run": run });
  const title = html(box, "h3");
  html(title, "span", {}, state.changes.length ? runNames[run] : "");
  html(title, "small");
  return html(box, "div", { class: "tokens", role: "group", "aria-label": `tokens ${runNames[run]}` });
}

// surprise returns how red a token of probability p is, from 0 to 1: its surprisal, in units of 10 bits.
const surprise = (p) => (p === null ? 0 : Math.min(1, -Math.log2(Math.max(p, 1e-9)) / 10));

function addToken(run, token) {
  state.runs[run].push(token);
  const parent = tokensOf(run);
  const button = html(parent, "button", { type: "button", class: "token", "aria-pressed": "false" }, token.label);
  button.style.setProperty("--share", surprise(token.probability).toFixed(3));
  button.classList.toggle("prompt", Boolean(token.prompt));
  const other = run === "changed" && state.runs.untouched[token.position];
  if (run === "changed" && (!other || other.id !== token.id)) button.classList.add("differs");
  if (/\n/.test(token.text)) html(parent, "span", { class: "line" });
  answer(button, run, token.position, () => tokenWords(run, token));
}

// addNext adds the place after the last token.
function addNext(run) {
  const position = state.runs[run].length;
  const button = html(tokensOf(run), "button", { type: "button", class: "token next", "aria-pressed": "false", "aria-label": "what comes next" }, "…");
  answer(button, run, position, () => [["choose it", "what comes next"]]);
}

function answer(button, run, position, words) {
  button.dataset.position = position;
  button.addEventListener("pointerenter", () => tipAt(words(), button));
  button.addEventListener("pointerleave", untip);
  button.addEventListener("focus", () => { if (button.matches(":focus-visible")) tipAt(words(), button); });
  button.addEventListener("blur", untip);
  button.addEventListener("click", () => choose(run, position));
  button.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const all = [...button.parentElement.querySelectorAll("button")];
    const next = step && all[all.indexOf(button) + step];
    if (next) {
      event.preventDefault();
      next.focus();
    }
  });
}

// tokenWords are a token's probability and alternatives.
function tokenWords(run, token) {
  const words = [["token", `${token.label} (${token.position}, id ${token.id})`]];
  if (token.probability === null) return [...words, ["probability", "none: nothing comes before it"]];
  words.push(["probability", number(token.probability, 3)]);
  const forced = run === "untouched" && state.forced?.[token.position];
  if (finite(forced)) words.push(["with the changes", number(forced, 3)]);
  for (const other of (token.top || []).slice(0, 6)) words.push([number(other.probability, 3), other.label]);
  return words;
}

// markForced marks the tokens whose probability the changes make twice as large, or half.
function markForced() {
  const buttons = tokensOf("untouched").querySelectorAll("button[data-position]");
  state.runs.untouched.forEach((token, i) => {
    const p = state.forced[i];
    if (!finite(p) || token.probability === null) return;
    buttons[i].classList.toggle("less", p < token.probability / 2);
    buttons[i].classList.toggle("more", p > token.probability * 2);
  });
}

function markChosen() {
  for (const button of document.querySelectorAll(".run .token")) {
    const run = button.closest(".run").dataset.run;
    const is = state.chosen && state.chosen.run === run && state.chosen.position === Number(button.dataset.position);
    button.setAttribute("aria-pressed", String(Boolean(is)));
  }
}
