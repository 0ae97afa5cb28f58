package analysis

import (
	"fmt"
	"slices"

	"github.com/residua-go/residua/figure"
)

// eigenvaluesShown is the number of heads whose eigenvalues a figure shows.
const eigenvaluesShown = 4

// Table lists the heads' scores. If there are many heads, it lists those with the largest copying
// scores.
func (c *Circuits) Table() figure.Table {
	t := figure.NewTable("Circuits", "lrrrrrrrr", "head", "OV score", "QK score",
		"copying (full OV)", "at random", "p", "matching (full QK)", "at random", "p")
	t.Note = "OV: what a head writes of what it attends to; QK: what it attends to. A score sums up a circuit's\n" +
		"eigenvalues, from -1 to 1: 1 where all are positive numbers. copying: above 0, what a head attends to\n" +
		"becomes likelier to follow. matching: above 0, a token attends to tokens like itself. Both are from token to\n" +
		"token, through the vocabulary. at random: the score (mean ± standard deviation) of the same weights rotated at\n" +
		"random, among the same vocabulary; p: the probability of a score as far from 0 by chance." + c.keyedNote()
	shown := c.shown
	if shown == nil {
		shown = c.strongest(listed, everyHead)
	}
	for _, h := range shown {
		t.Row(slices.Concat([]any{h.Name(), h.OV.Score, h.QK.Score}, h.FullOV.cells(), h.FullQK.cells())...)
	}
	return t
}

// cells returns a full circuit's score and its chance; empty texts if the circuit was not computed.
func (s *CircuitSpectrum) cells() []any {
	switch {
	case s == nil:
		return []any{"", "", ""}
	case s.Chance == nil:
		return []any{s.Score, "", ""}
	}
	return []any{s.Score, s.Chance.String(), fmt.Sprintf("%.2g", s.Chance.P)}
}

// keyedNote explains the OV and QK scores of heads with keys.
func (c *Circuits) keyedNote() string {
	if c.Values == 1 {
		return ""
	}
	return "\nA head with keys treats all values alike: its scores of OV and QK are hardly more than the sign of a product of\n" +
		"two keys. The full circuits tell more."
}

// Show makes Table list the n heads that copy most among the chosen ones.
func (c *Circuits) Show(n int, chosen func(layer, head int) bool) { c.shown = c.strongest(n, chosen) }

func everyHead(layer, head int) bool { return true }

// strongest returns the n heads that copy most among the chosen ones.
func (c *Circuits) strongest(n int, chosen func(layer, head int) bool) []HeadCircuits {
	some := slices.DeleteFunc(slices.Clone(c.Heads), func(h HeadCircuits) bool { return !chosen(h.Layer, h.Head) })
	return figure.Largest(some, n, HeadCircuits.copying)
}

// copying returns the score of the full OV circuit, or of OV if that was not computed.
func (h HeadCircuits) copying() float64 {
	if h.FullOV != nil {
		return h.FullOV.Score
	}
	return h.OV.Score
}

// Figures are maps of the scores, a row a layer, and the eigenvalues of the heads that copy
// most in the complex plane.
func (c *Circuits) Figures() []figure.Figure {
	figures := []figure.Figure{
		c.scores("OV circuits: sum Re(eigenvalues) / sum |eigenvalues|", func(h HeadCircuits) float64 { return h.OV.Score }),
		c.scores("QK circuits: sum Re(eigenvalues) / sum |eigenvalues|", func(h HeadCircuits) float64 { return h.QK.Score }),
	}
	if c.Heads[0].FullOV == nil {
		return figures
	}
	strongest := c.strongest(eigenvaluesShown, everyHead)
	return append([]figure.Figure{
		c.scores("Copying scores, of the full OV circuits", func(h HeadCircuits) float64 { return h.FullOV.Score }),
		c.scores("Matching scores, of the full QK circuits", func(h HeadCircuits) float64 { return h.FullQK.Score }),
		complexPlane("Eigenvalues of the full OV circuits that copy most", strongest, func(h HeadCircuits) *CircuitSpectrum { return h.FullOV }),
	}, figures...)
}

// scores maps a score of the heads.
func (c *Circuits) scores(title string, score func(HeadCircuits) float64) figure.Heatmap {
	m := figure.Heatmap{Title: title, XLabel: "head", YLabel: "layer", Diverging: true, Limits: []float64{-1, 1}}
	for l := range c.Layers {
		row := make([]float64, c.Each)
		for h := range row {
			row[h] = score(c.Heads[l*c.Each+h])
		}
		m.Values = append(m.Values, row)
	}
	return m
}

// complexPlane shows one spectrum of each head.
func complexPlane(title string, heads []HeadCircuits, of func(HeadCircuits) *CircuitSpectrum) figure.Lines {
	lines := figure.NewLines(title, "real part", "imaginary part")
	for _, h := range heads {
		s := figure.Series{Name: h.Name(), Points: true}
		for _, v := range of(h).Eigenvalues {
			s.Add(v.Re, v.Im)
		}
		lines.Series = append(lines.Series, s)
	}
	return lines
}

// spectra are a head's circuits with their names.
func (h HeadCircuits) spectra() ([]string, []*CircuitSpectrum) {
	names, all := []string{"OV", "QK"}, []*CircuitSpectrum{&h.OV, &h.QK}
	if h.FullOV != nil {
		names, all = append(names, "full OV", "full QK"), append(all, h.FullOV, h.FullQK)
	}
	return names, all
}

// Table lists a head's circuits with their largest eigenvalues.
func (h HeadCircuits) Table() figure.Table {
	t := figure.NewTable(h.Name(), "lrrrrl", "circuit", "score", "at random", "norm", "eigenvalues", "largest")
	names, all := h.spectra()
	for i, s := range all {
		largest := ""
		for _, v := range s.Eigenvalues[:min(eigenvaluesShown, len(s.Eigenvalues))] {
			largest += fmt.Sprintf("%.3g%+.3gi  ", v.Re, v.Im)
		}
		t.Row(names[i], s.Score, s.Chance.String(), s.Norm, len(s.Eigenvalues), largest)
	}
	return t
}

// Figures are the eigenvalues of each circuit in the complex plane.
func (h HeadCircuits) Figures() []figure.Figure {
	var figures []figure.Figure
	names, all := h.spectra()
	for i, s := range all {
		figures = append(figures, complexPlane("Eigenvalues of "+names[i], []HeadCircuits{h}, func(HeadCircuits) *CircuitSpectrum { return s }))
	}
	return figures
}
