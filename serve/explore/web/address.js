// The page's address: its fragment has what differs from the form's defaults, the changes and the chosen token, so that it can
// be shared. The server's token is never part of it.

const kept = ["prompt", "tokens", "temperature", "top-p", "seed"];

// writeAddress puts the page's state into the fragment, without an entry in the browser's history.
function writeAddress() {
  const parts = new URLSearchParams();
  for (const id of kept) if (byID(id).value !== byID(id).defaultValue) parts.set(id, byID(id).value);
  if (byID("bos").checked !== state.model.bos) parts.set("bos", byID("bos").checked ? "1" : "0");
  if (state.changes.length) parts.set("changes", JSON.stringify(state.changes));
  if (state.chosen && !state.chosen.byDefault) parts.set("chosen", JSON.stringify(state.chosen));
  const text = parts.toString();
  history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
}

// readAddress sets the page's state from the fragment, and ignores what is not valid.
function readAddress() {
  const parts = new URLSearchParams(location.hash.slice(1));
  for (const id of kept) if (parts.has(id)) byID(id).value = parts.get(id);
  byID("bos").checked = parts.has("bos") ? parts.get("bos") === "1" : state.model.bos;
  const changes = parsed(parts.get("changes"));
  if (Array.isArray(changes)) state.changes = changes.filter((c) => typeof c?.activation === "string" && (typeof c.scale === "number" || typeof c.add?.times === "number"));
  const chosen = parsed(parts.get("chosen"));
  if (chosen && typeof chosen.run === "string" && Number.isInteger(chosen.position) && chosen.position > 0) state.chosen = chosen;
}

// parsed returns the value of a JSON text, or null if the text is not JSON.
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

// The index leads to a section without touching the fragment.
for (const link of document.querySelectorAll("#index a")) {
  link.addEventListener("click", (event) => {
    event.preventDefault();
    byID(link.hash.slice(1)).scrollIntoView({ behavior: "smooth" });
  });
}
