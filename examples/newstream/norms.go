package main

import (
	"context"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/analysis/report"
	"github.com/residua-go/residua/figure"
)

// Norms is an analysis: how large each writer's contribution is at the end of the stream, token by
// token, |C_w y_w| for every writer w, where C_w carries its write y_w to the end.
type Norms struct {
	report.Prompt
	Relative bool `yaml:"relative" help:"divide by the norm of the whole stream at the token"`
}

// Name returns the analysis's name.
func (Norms) Name() string { return "norms" }

// Card describes Norms. It needs a stream that can be decomposed, as every stream can.
func (Norms) Card() report.Card {
	return report.Card{
		Summary: "how large what each writer wrote is at the end of the stream",
		Example: `
			analyze norms -checkpoint runs/layerscale -prompt "func "
			analyze norms -checkpoint runs/layerscale -relative -out /tmp/norms`,
	}
}

// Run decomposes a run on the prompt.
func (n Norms) Run(_ context.Context, m *report.Model) (*report.Report, error) {
	ids, err := n.Prompt.Read(m, 1)
	if err != nil {
		return nil, err
	}
	run, err := analysis.Run(m.Store, m.Spec, ids)
	if err != nil {
		return nil, err
	}
	d, err := analysis.Decompose(run)
	if err != nil {
		return nil, err
	}
	found := &writeNorms{}
	for _, w := range d.Writers() {
		norms, err := n.of(d, w.Name, len(ids))
		if err != nil {
			return nil, err
		}
		found.Writers, found.Norms = append(found.Writers, w.Name), append(found.Norms, norms)
	}
	r := m.NewReport("Norms of writes", ids)
	r.Add("norms", "What each writer wrote", "The norm of what a writer wrote, as it is at the end of the stream.", found).LabelTokens(m, ids)
	return r, nil
}

// of returns the norms of a writer, token by token.
func (n Norms) of(d *analysis.Decomposition, writer string, tokens int) ([]float64, error) {
	var norms []float64
	for token := range tokens {
		term, err := d.WriterTerm(writer, token)
		if err != nil {
			return nil, err
		}
		norm := floats.Norm(term, 2)
		if n.Relative {
			whole, err := d.Output(token)
			if err != nil {
				return nil, err
			}
			norm /= floats.Norm(whole, 2)
		}
		norms = append(norms, norm)
	}
	return norms, nil
}

// writeNorms is the result of the analysis.
type writeNorms struct {
	Writers []string    `json:"writers"`
	Norms   [][]float64 `json:"norms"` // [writer][token]
}

// Table returns a row for each writer.
func (w *writeNorms) Table() figure.Table {
	t := figure.NewTable("norm of what each writer wrote", "lrr", "writer", "mean over tokens", "largest")
	for i, name := range w.Writers {
		t.Row(name, floats.Sum(w.Norms[i])/float64(len(w.Norms[i])), slices.Max(w.Norms[i]))
	}
	return t
}

// Figures returns a map of all norms; LabelTokens replaces the positions by the tokens' texts.
func (w *writeNorms) Figures() []figure.Figure {
	h := figure.Heatmap{Title: "Norm of what each writer wrote", XLabel: "token", YLabel: "writer", Rows: w.Writers, Values: w.Norms}
	for i := range w.Norms[0] {
		h.Columns = append(h.Columns, fmt.Sprint(i))
	}
	return []figure.Figure{h}
}
