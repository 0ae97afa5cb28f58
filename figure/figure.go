// Package figure describes figures as plain data (heatmaps, lines, bars, attention patterns,
// wiring diagrams, tables) and draws them as SVG and PNG pictures, or as text.
//
// A figure knows nothing of what it shows: an analysis fills it, and whoever holds it draws it
// here, puts it into a page (package page) or writes it as JSON. The same data give the same
// bytes. In JSON a value that is not a number, or is infinite, is null; null is read as NaN.
package figure

// Figure is one of the figures of this package: Heatmap, Lines, Panels, Bars, Attention, Wiring, Table.
type Figure interface {
	Heading() string // the title
}

// Heatmap is a matrix shown by colours: rows from the top down, columns from the left.
type Heatmap struct {
	Title     string   `json:"title"`
	XLabel    string   `json:"x_label"`
	YLabel    string   `json:"y_label"`
	Columns   []string `json:"columns"`   // labels; nil: indices
	Rows      []string `json:"rows"`      // labels; nil: indices
	Values    Matrix   `json:"values"`    // [row][column]; NaN: no value (left blank)
	Diverging bool     `json:"diverging"` // colours around 0: blue below, red above; else from the smallest to the largest value
	// Limits are the values at the ends of the colours, the lower first, so that several heatmaps
	// compare; what lies outside has the end's colour. None: fitted to the values.
	Limits []float64 `json:"limits,omitempty"`
	// Cells are texts in the cells, [row][column]; nil: none. What is longer than its cell is cut; where there are so many
	// that they could not be read, they are left out.
	Cells [][]string `json:"cells,omitempty"`
}

// Lines is a chart of one or more series over common axes.
type Lines struct {
	Title  string    `json:"title"`
	XLabel string    `json:"x_label"`
	YLabel string    `json:"y_label"`
	LogX   bool      `json:"log_x"` // logarithmic; points that are not above 0 are left out
	LogY   bool      `json:"log_y"`
	XTicks []float64 `json:"x_ticks,omitempty"` // where the numbers stand; nil: chosen. Pages choose
	XNames []string  `json:"x_names,omitempty"` // what stands at x = 0, 1, 2, ..., in the place of numbers; nil: numbers
	Series []Series  `json:"series"`
}

// Panels are line charts side by side that share their axes, and the names and colours of their
// series: one legend, the first chart's, is for all. A page takes the charts one by one.
type Panels struct {
	Title  string  `json:"title"`
	Across int     `json:"across"` // charts in a row; 0: all
	Charts []Lines `json:"charts"` // the first one's axes are for all, over all values
	// OwnAxes gives each chart axes of its own.
	OwnAxes bool `json:"own_axes,omitempty"`
}

// Series is a line of Lines. Points with a coordinate that is not finite are left out, and the
// line is broken there.
type Series struct {
	Name   string  `json:"name"`
	X      Numbers `json:"x"`
	Y      Numbers `json:"y"`
	Raw    Numbers `json:"raw,omitempty"`   // Y before it was smoothed, drawn thin and pale below the line; nil: none. Pages leave it out
	Error  Numbers `json:"error"`           // half-lengths of error bars, nil: none
	Points bool    `json:"points"`          // marks, no line
	Marks  bool    `json:"marks,omitempty"` // marks on the line
	Like   int     `json:"like,omitempty"`  // drawn in the colour of this series of the chart, counted from 1; 0: in its own. Pages leave it out
}

// Bars are horizontal bars, from the top down in the given order: one a label, coloured by sign, or one a label and series,
// coloured by series.
type Bars struct {
	Title  string      `json:"title"`
	YLabel string      `json:"y_label"` // what the bars' length is, with its unit
	Labels []string    `json:"labels"`
	Values Numbers     `json:"values"`           // one a label; NaN: no bar. nil with Series
	Series []BarSeries `json:"series,omitempty"` // in the place of Values
	Errors Numbers     `json:"errors,omitempty"` // half-lengths of error bars of Values; nil: none
	Format string      `json:"format,omitempty"` // of the number at a bar's end, such as "%.1f"; "": four digits
}

// BarSeries is a bar for each label of Bars.
type BarSeries struct {
	Name   string  `json:"name"`
	Values Numbers `json:"values"` // NaN: no bar
}

// Attention is the attention patterns of heads over tokens.
type Attention struct {
	Title    string   `json:"title"`
	Tokens   []string `json:"tokens"`
	Heads    []string `json:"heads"`    // names
	Patterns []Matrix `json:"patterns"` // [head][query][key]; NaN: no value
}

// Wiring is a directed graph drawn in rows by layer, the first at the top.
type Wiring struct {
	Title string       `json:"title"`
	Nodes []WiringNode `json:"nodes"`
	Edges []WiringEdge `json:"edges"`
}

// WiringNode is a node of a wiring diagram.
type WiringNode struct {
	Name  string `json:"name"`
	Layer int    `json:"layer"` // the row
}

// WiringEdge is an edge of a wiring diagram: its width and opacity show |Weight|, its colour the
// sign.
type WiringEdge struct {
	From   int     `json:"from"` // index of Nodes
	To     int     `json:"to"`   // index of Nodes
	Weight float64 `json:"weight"`
	Via    string  `json:"via,omitempty"` // as what To reads it, such as "q, v"
}

// Table is rows of text cells. It is written as text (Text, Markdown, CSV), not drawn.
type Table struct {
	Title  string     `json:"title"`
	Header []string   `json:"header"`
	Rows   [][]string `json:"rows"`
	Align  string     `json:"align"` // a letter a column, l or r; columns beyond are l
	// Note explains the table's words under it, in lines of about 100 characters.
	Note string `json:"note,omitempty"`
}

// Heading is the title.
func (h Heatmap) Heading() string { return h.Title }

// Heading is the title.
func (l Lines) Heading() string { return l.Title }

// Heading is the title.
func (p Panels) Heading() string { return p.Title }

// Heading is the title.
func (b Bars) Heading() string { return b.Title }

// Heading is the title.
func (a Attention) Heading() string { return a.Title }

// Heading is the title.
func (w Wiring) Heading() string { return w.Title }

// Heading is the title.
func (t Table) Heading() string { return t.Title }
