package analysis

import (
	"fmt"

	"github.com/residua-go/residua/figure"
)

// Table is a row a site and space: each measure, and the controls' mean +- deviation.
func (r *BasisReport) Table() figure.Table {
	t := figure.NewTable(fmt.Sprintf("Basis of the %s stream (%d tokens) compared with %d rotations", r.Stream, r.Tokens, r.Controls), "llrrrrrrrrrrl",
		"site", "space", "kurtosis", "rotated", "largest", "rotated", "direction",
		"across", "rotated", "max/mean size", "rotated", "direction", "own basis")
	t.Note = "kurtosis: how heavy the tails are of a direction's entries over the tokens; 3 is a Gaussian's. It is the\n" +
		"mean over the directions, largest that of one direction (its number follows). across: the kurtosis of a\n" +
		"token's entries, large where few directions hold most of a vector. max/mean size: the largest direction's\n" +
		"size over the mean one's. rotated: the same along the axes of random rotations, mean ± standard deviation.\n" +
		"own basis: what differs by more than three of these."
	for _, p := range r.Points {
		row := []string{siteLabel(p.Site), p.Space}
		row = append(append(row, p.MeanKurtosis.cells()...), p.MaxKurtosis.cells()...)
		row = append(append(row, fmt.Sprint(p.Peak)), p.Across.cells()...)
		row = append(append(row, p.MaxMean.cells()...), fmt.Sprint(p.Largest), p.Words())
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (c Controlled) cells() []string {
	return []string{fmt.Sprintf("%.3g", c.Own), fmt.Sprintf("%.3g ± %.2g", c.Rotated, c.Deviation)}
}

// Figures are, for each space, the measures by site with their controls, and maps of the
// directions' kurtosis and size.
func (r *BasisReport) Figures() []figure.Figure {
	var figures []figure.Figure
	for _, space := range r.spaces() {
		for _, m := range []struct {
			what string
			of   func(BasisPoint) Controlled
		}{
			{"Kurtosis of a direction's entries, mean", func(p BasisPoint) Controlled { return p.MeanKurtosis }},
			{"Kurtosis across a vector's entries, mean", func(p BasisPoint) Controlled { return p.Across }},
			{"Largest direction's size over the mean", func(p BasisPoint) Controlled { return p.MaxMean }},
		} {
			figures = append(figures, r.lines(space, m.what, m.of))
		}
		figures = append(figures,
			r.directions(space, "Kurtosis", func(p BasisPoint) []float64 { return p.Kurtosis }),
			r.directions(space, "Size (root mean square)", func(p BasisPoint) []float64 { return p.Size }))
	}
	return figures
}

// spaces lists the report's spaces, in order.
func (r *BasisReport) spaces() []string {
	var all []string
	for _, p := range r.Points {
		if len(all) == 0 || all[len(all)-1] != p.Space {
			all = append(all, p.Space)
		}
	}
	return all
}

// lines draws a measure by site.
func (r *BasisReport) lines(space, what string, of func(BasisPoint) Controlled) figure.Lines {
	l := figure.NewLines(r.heading(what, space), "the stream after", what, "own basis", "rotated")
	for _, p := range r.Points {
		if p.Space != space {
			continue
		}
		m := of(p)
		l.AddNamed(siteLabel(p.Site), m.Own, m.Rotated)
		l.Series[1].Error = append(l.Series[1].Error, m.Deviation)
	}
	return l
}

// directions maps a value of each direction, a row a site.
func (r *BasisReport) directions(space, what string, of func(BasisPoint) []float64) figure.Heatmap {
	h := figure.Heatmap{Title: r.heading(what+" of each direction", space), XLabel: "direction", YLabel: "site"}
	for _, p := range r.Points {
		if p.Space == space {
			h.Add(siteLabel(p.Site), of(p))
		}
	}
	return h
}

func (r *BasisReport) heading(what, space string) string {
	if space == SpaceStream {
		return what
	}
	return fmt.Sprintf("%s (space %s)", what, space)
}
