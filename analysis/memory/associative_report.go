package memory

import (
	"fmt"

	"github.com/residua-go/residua/figure"
)

// Table returns a table with a row for each number of pairs.
func (m *Associative) Table() figure.Table {
	t := figure.NewTable(fmt.Sprintf("one matrix of %d x %d as a memory: relative squared error of what is read, %d seeds", m.Dk, m.Dv, m.Seeds), "lrrrrrrrr",
		"keys", "pairs", "N/Dk", "error", "standard error", "theory", "mean squared cosine", "largest |cosine|", "Welch bound")
	t.Note = "N: the pairs. error: the mean of |read - stored|² / |stored|². cosine: of two keys; Welch bound: the smallest\n" +
		"value that the largest |cosine| can have."
	for _, c := range m.Curves {
		for _, p := range c.Points {
			t.Row(c.Keys, p.Pairs, p.Load, p.Error, p.StandardError, p.Theory, p.MeanSquared, p.Max, p.Welch)
		}
	}
	return t
}

// Figures are the error against N/Dk, the coherence of the keys, and the error against it.
func (m *Associative) Figures() []figure.Figure {
	errors := figure.NewLines("Error of what is read from an outer-product memory", "pairs / Dk", "|read - v|² / |v|²")
	coherence := figure.NewLines("Coherence of the keys", "pairs / Dk", "largest |cosine|")
	for _, c := range m.Curves {
		measured, theory, largest := figure.Series{Name: c.Keys + ", measured", Points: true}, figure.Series{Name: c.Keys + ", theory"}, figure.Series{Name: c.Keys}
		for _, p := range c.Points {
			measured.Add(p.Load, p.Error, p.StandardError)
			theory.Add(p.Load, p.Theory)
			largest.Add(p.Load, p.Max)
		}
		errors.Series = append(errors.Series, measured, theory)
		if c.Keys != KeysLeastSquares { // whose keys are the random ones
			coherence.Series = append(coherence.Series, largest)
		}
	}
	errors.Series = append(errors.Series, m.bound("least of outer products", func(p RetrievalPoint) float64 { return p.Least }))
	coherence.Series = append(coherence.Series, m.bound("Welch bound", func(p RetrievalPoint) float64 { return p.Welch }))
	return []figure.Figure{errors, coherence, m.sharedFigure()}
}

// bound is a line over the loads.
func (m *Associative) bound(name string, of func(p RetrievalPoint) float64) figure.Series {
	s := figure.Series{Name: name}
	for _, p := range m.Curves[0].Points {
		s.Add(p.Load, of(p))
	}
	return s
}

func (m *Associative) sharedFigure() figure.Lines {
	measured, theory := figure.Series{Name: "measured", Points: true}, figure.Series{Name: "(N-1) x mean squared cosine"}
	for _, p := range m.Shared {
		measured.Add(p.Cosine, p.Error, p.StandardError)
		theory.Add(p.Cosine, p.Theory)
	}
	return figure.Lines{Title: fmt.Sprintf("Error against coherence, %d pairs", m.Dk-1), XLabel: "cosine of any two keys", YLabel: "|read - v|² / |v|²", Series: []figure.Series{measured, theory}}
}
