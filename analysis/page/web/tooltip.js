// The tooltip: names and values next to the mouse.

const tooltip = document.getElementById("tooltip");

// tip shows [name, value] pairs next to a point of the window.
function tip(pairs, x, y) {
  const list = document.createElement("dl");
  for (const [name, value] of pairs) {
    html(list, "dt", {}, name);
    html(list, "dd", {}, value);
  }
  tooltip.replaceChildren(list);
  tooltip.hidden = false;
  const gap = 14, { width, height } = tooltip.getBoundingClientRect();
  const left = x + gap + width > innerWidth ? x - gap - width : x + gap;
  const top = y + gap + height > innerHeight ? y - gap - height : y + gap;
  tooltip.style.left = `${Math.max(4, left)}px`;
  tooltip.style.top = `${Math.max(4, top)}px`;
}

// tipAt shows pairs at an element.
function tipAt(pairs, element) {
  const box = element.getBoundingClientRect();
  tip(pairs, box.right - 10, box.bottom - 10);
}

function untip() {
  tooltip.hidden = true;
}

addEventListener("wheel", untip, { passive: true });
addEventListener("keydown", (event) => { if (event.key === "Escape") untip(); });
