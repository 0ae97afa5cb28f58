// Each figure's data are drawn into it.

for (const figure of document.querySelectorAll("figure")) {
  const data = figure.querySelector("script");
  if (data) drawings[figure.className](figure, JSON.parse(data.textContent));
}
