// Package figure describes figures as plain data (heatmaps, lines, bars, attention patterns,
// wiring diagrams, tables) and draws them as SVG and PNG pictures, or as text.
//
// A figure does not know what it shows: an analysis fills it, and its user draws it here, puts it
// into a page (package page) or writes it as JSON. The same data give the same bytes. In JSON, null
// stands for a value that is NaN or infinite, and is read as NaN.
package figure

// Figure is one of the figures of this package: Heatmap, Lines, Panels, Bars, Attention, Wiring,
// Table.
type Figure interface {
	Heading() string // the title
}

// Heatmap shows a matrix by colours: rows from the top down, columns from the left.
type Heatmap struct {
	Title     string   `json:"title"`
	XLabel    string   `json:"x_label"`
	YLabel    string   `json:"y_label"`
	Columns   []string `json:"columns"`   // labels; nil: indices
	Rows      []string `json:"rows"`      // labels; nil: indices
	Values    Matrix   `json:"values"`    // [row][column]; NaN: no value, left blank
	Diverging bool     `json:"diverging"` // centre the colours on 0: blue below, red above; otherwise they go from the smallest to the largest value
	// Limits are the values at the ends of the colour scale, the lower first, to make several
	// heatmaps comparable; values outside get the colour of the nearer end. Empty: fitted to the
	// values.
	Limits []float64 `json:"limits,omitempty"`
	// Cells are texts in the cells, [row][column]; nil: none. A text that is longer than its cell
	// is cut; all are left out if there are too many cells to read them.
	Cells [][]string `json:"cells,omitempty"`
}

// Lines is a chart of one or more series over common axes.
type Lines struct {
	Title  string    `json:"title"`
	XLabel string    `json:"x_label"`
	YLabel string    `json:"y_label"`
	LogX   bool      `json:"log_x"` // logarithmic; points that are not above 0 are left out
	LogY   bool      `json:"log_y"`
	XTicks []float64 `json:"x_ticks,omitempty"` // where to put numbers; nil: chosen automatically. Pages ignore it
	XNames []string  `json:"x_names,omitempty"` // labels at x = 0, 1, 2, ... instead of numbers; nil: numbers
	Series []Series  `json:"series"`
}

// Panels are line charts side by side that share their axes and the names and colours of their
// series; the first chart's legend serves all. A page shows the charts one by one.
type Panels struct {
	Title  string  `json:"title"`
	Across int     `json:"across"` // charts in a row; 0: all
	Charts []Lines `json:"charts"` // the first chart's axes serve all, and span all values
	// OwnAxes gives each chart its own axes.
	OwnAxes bool `json:"own_axes,omitempty"`
}

// Series is a line of Lines. The line is broken at points with a coordinate that is not finite;
// these points are left out.
type Series struct {
	Name   string  `json:"name"`
	X      Numbers `json:"x"`
	Y      Numbers `json:"y"`
	Raw    Numbers `json:"raw,omitempty"`   // Y before smoothing, drawn thin and pale below the line; nil: none. Pages leave it out
	Error  Numbers `json:"error"`           // half-lengths of error bars; nil: none
	Points bool    `json:"points"`          // draw marks without a line
	Marks  bool    `json:"marks,omitempty"` // draw marks on the line
	Like   int     `json:"like,omitempty"`  // use the colour of this series of the chart, counted from 1; 0: its own. Pages ignore it
}

// Bars are horizontal bars, from the top down in the given order: either one for each label,
// coloured by sign, or one for each label and series, coloured by series.
type Bars struct {
	Title  string      `json:"title"`
	YLabel string      `json:"y_label"` // what the bars' length means, with its unit
	Labels []string    `json:"labels"`
	Values Numbers     `json:"values"`           // one for each label; NaN: no bar. nil if there are Series
	Series []BarSeries `json:"series,omitempty"` // instead of Values
	Errors Numbers     `json:"errors,omitempty"` // half-lengths of error bars of Values; nil: none
	Format string      `json:"format,omitempty"` // format of the number at a bar's end, such as "%.1f"; "": four digits
}

// BarSeries has a bar for each label of Bars.
type BarSeries struct {
	Name   string  `json:"name"`
	Values Numbers `json:"values"` // NaN: no bar
}

// Attention shows the attention patterns of heads over tokens.
type Attention struct {
	Title    string   `json:"title"`
	Tokens   []string `json:"tokens"`
	Heads    []string `json:"heads"`    // names
	Patterns []Matrix `json:"patterns"` // [head][query][key]; NaN: no value
}

// Wiring is a directed graph, drawn in rows by layer with the first at the top.
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

// WiringEdge is an edge of a wiring diagram. Its width and opacity show |Weight|, its colour the
// sign.
type WiringEdge struct {
	From   int     `json:"from"` // index of Nodes
	To     int     `json:"to"`   // index of Nodes
	Weight float64 `json:"weight"`
	Via    string  `json:"via,omitempty"` // as what To reads it, such as "q, v"
}

// Table has rows of text cells. It is written as text (Text, Markdown, CSV) and cannot be drawn.
type Table struct {
	Title  string     `json:"title"`
	Header []string   `json:"header"`
	Rows   [][]string `json:"rows"`
	Align  string     `json:"align"` // l or r for each column; further columns are l
	// Note explains the table's terms below it, in lines of about 100 characters.
	Note string `json:"note,omitempty"`

	limit int // of Text's lines, as Within says
}

// Heading returns the title.
func (h Heatmap) Heading() string { return h.Title }

// Heading returns the title.
func (l Lines) Heading() string { return l.Title }

// Heading returns the title.
func (p Panels) Heading() string { return p.Title }

// Heading returns the title.
func (b Bars) Heading() string { return b.Title }

// Heading returns the title.
func (a Attention) Heading() string { return a.Title }

// Heading returns the title.
func (w Wiring) Heading() string { return w.Title }

// Heading returns the title.
func (t Table) Heading() string { return t.Title }
