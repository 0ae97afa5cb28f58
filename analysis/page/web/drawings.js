// The kinds of figures: each draws data into a figure element.

const drawings = { heatmap, lines, bars, attention, wiring };
