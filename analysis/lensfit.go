package analysis

import (
	"fmt"

	"github.com/residua-go/residua/figure"
)

// LensFit says how far lenses are from the model's own distribution on text that the tuned lens has
// not seen: KL(final || lens) in nats, mean over tokens.
type LensFit struct {
	After  []string  `json:"after"` // writers
	Plain  []float64 `json:"plain"` // of the logit lens
	Tuned  []float64 `json:"tuned"` // of the tuned lens
	Tokens int       `json:"tokens"`
}

func (f *LensFit) title() string {
	return fmt.Sprintf("KL(final || lens) in nats, mean over %d held-out tokens", f.Tokens)
}

// Table lists both lenses' divergence after each writer.
func (f *LensFit) Table() figure.Table {
	t := figure.NewTable(f.title(), "lrr", "after", "logit lens", "tuned lens")
	for i, after := range f.After {
		t.Row(after, f.Plain[i], f.Tuned[i])
	}
	return t
}

// Figures are bars of both lenses' divergence.
func (f *LensFit) Figures() []figure.Figure {
	b := figure.NewBars(f.title(), "nats")
	for i, after := range f.After {
		b.Add(after+", logit lens", f.Plain[i])
		b.Add(after+", tuned lens", f.Tuned[i])
	}
	return []figure.Figure{b}
}
