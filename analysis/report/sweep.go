package report

import (
	"math"
	"strings"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/figure"
)

// swept is a result that holds effects at many places.
type swept interface {
	Result
	Effects() *analysis.Sweep
}

// sweep adds a part for a sweep over places. The terminal lists only the top effects. Columns are
// the tokens of a prompt or, if it is nil, heads.
func (r *Report) sweep(m *Model, name, heading, text string, prompt []int32, top int) func(swept, error) {
	return func(of swept, err error) {
		p := r.part(name, heading, text)(of, err)
		if r.err != nil {
			return
		}
		effects := of.Effects()
		header, place := []string{"head"}, func(i, j int) []any { return []any{effects.HeadName(i, j)} }
		if prompt != nil {
			tokens := inWords(effects.Columns, m.words(prompt))
			p.LabelTokens(m, prompt)
			p.Table.Header = append(p.Table.Header[:1:1], tokens...)
			header, place = []string{"activation", tokenAxis}, func(i, j int) []any { return []any{effects.Rows[i], tokens[j]} }
		}
		p.Brief = largestEffects(effects, top, p.Table.Title, header, place)
	}
}

// largestEffects lists the places of the largest effects, largest first.
func largestEffects(of *analysis.Sweep, top int, title string, header []string, place func(row, column int) []any) *figure.Table {
	type effect struct {
		row, column int
		value       float64
	}
	var effects []effect
	for i, row := range of.Effect {
		for j, v := range row {
			effects = append(effects, effect{i, j, v})
		}
	}
	t := &figure.Table{Title: title + ": the largest", Header: append(header, "effect"), Align: strings.Repeat("l", len(header)) + "r"}
	for _, e := range figure.Largest(effects, top, func(e effect) float64 { return math.Abs(e.value) }) {
		t.Row(append(place(e.row, e.column), e.value)...)
	}
	return t
}
