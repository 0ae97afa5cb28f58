// Each figure's data are drawn into it.

const drawings = { heatmap, lines, bars, attention, wiring };

for (const figure of document.querySelectorAll("figure")) {
  const data = figure.querySelector("script");
  if (data) drawings[figure.className](figure, JSON.parse(data.textContent));
}
