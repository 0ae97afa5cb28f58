package figure

import (
	"math"
	"slices"
)

// NewLines returns a chart of series without points, with its title, axis labels and the names of
// the series.
func NewLines(title, xLabel, yLabel string, series ...string) Lines {
	l := Lines{Title: title, XLabel: xLabel, YLabel: yLabel}
	for _, name := range series {
		l.Series = append(l.Series, Series{Name: name})
	}
	return l
}

// NewBars returns a chart of series without bars, with its title, what the bars' length means, and
// the names of the series.
func NewBars(title, yLabel string, series ...string) Bars {
	b := Bars{Title: title, YLabel: yLabel}
	for _, name := range series {
		b.Series = append(b.Series, BarSeries{Name: name})
	}
	return b
}

// Add adds a point; half, if given, is the half-length of its error bar.
func (s *Series) Add(x, y float64, half ...float64) {
	s.X, s.Y, s.Error = append(s.X, x), append(s.Y, y), append(s.Error, half...)
}

// Add adds a point to each series, at x.
func (l *Lines) Add(x float64, values ...float64) {
	for i, y := range values {
		l.Series[i].Add(x, y)
	}
}

// AddNamed adds a point to each series at the next whole number, and gives that place a name.
func (l *Lines) AddNamed(name string, values ...float64) {
	l.Add(float64(len(l.XNames)), values...)
	l.XNames = append(l.XNames, name)
}

// Add adds a bar and, if half is given, the half-length of its error bar.
func (b *Bars) Add(label string, value float64, half ...float64) {
	b.Labels, b.Values, b.Errors = append(b.Labels, label), append(b.Values, value), append(b.Errors, half...)
}

// AddGroup adds a bar to each series.
func (b *Bars) AddGroup(label string, values ...float64) {
	b.Labels = append(b.Labels, label)
	for i, v := range values {
		b.Series[i].Values = append(b.Series[i].Values, v)
	}
}

// Set sets the value at the named row and column, which it adds if necessary. Values that are never
// set are NaN.
func (h *Heatmap) Set(row, column string, v float64) {
	i, j := slices.Index(h.Rows, row), slices.Index(h.Columns, column)
	if j < 0 {
		j, h.Columns = len(h.Columns), append(h.Columns, column)
	}
	if i < 0 {
		i = len(h.Rows)
		h.Add(row, nil)
	}
	for r := range h.Values {
		for len(h.Values[r]) < len(h.Columns) {
			h.Values[r] = append(h.Values[r], math.NaN())
		}
	}
	h.Values[i][j] = v
}

// Add adds a row.
func (h *Heatmap) Add(label string, values []float64) {
	h.Rows, h.Values = append(h.Rows, label), append(h.Values, values)
}
