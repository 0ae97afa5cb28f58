package analysis

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/stream"
)

// Rescue measures what the rows of a stream hold (stream ablation and rescue, after arXiv
// 2603.14833). After each site but the last, a row is set to 0 for all tokens, and after the next
// site it is restored to its value in the untouched run. What the restoration regains was held by
// that row alone; the rest had reached other rows or sublayers by then.
type Rescue struct {
	Loss    float64      `json:"loss"`    // of the untouched run, nats a token
	Sites   []string     `json:"sites"`   // after which a row is ablated
	Ablated [][]float64  `json:"ablated"` // what the loss rises by, [site][row]
	Rescued [][]*float64 `json:"rescued"` // the share that the restoration regains; null where the loss hardly rises
}

// leastRise is the smallest rise of the loss, in nats, for which a regained share means anything.
const leastRise = 1e-3

// rowAxis is the axis of a stream's rows.
const rowAxis = "row"

// AblateRows ablates and rescues each row of a stream on a row of at least two token ids. For a
// stream without rows the error wraps mixing.ErrNone.
func AblateRows(ctx context.Context, store *graph.Store, spec models.Spec, ids []int32) (*Rescue, error) {
	sketch, err := cache.Sketch(store, spec)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range stream.Mixings(sketch.Stream()) {
		if name := m.Name + ".stream"; slices.Contains(sketch.Builder().ActivationNames(), name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) < 2 {
		return nil, unmixed(spec, "rows")
	}
	b, err := newBaseline(ctx, store, spec, ids, names)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	if state, _ := b.clean.Get(names[0]); state.Axis(rowAxis) < 0 {
		return nil, unmixed(spec, "rows")
	}
	result := &Rescue{Loss: b.loss}
	for i, name := range names[:len(names)-1] {
		result.site(b, name, names[i+1])
	}
	return result, b.err
}

// site ablates each row at one activation and restores it at the next.
func (s *Rescue) site(b *baseline, name, next string) {
	state, _ := b.clean.Get(name) // which the run has kept
	var ablated []float64
	var rescued []*float64
	for row := range state.Shape[state.Axis(rowAxis)] {
		at := cache.At{rowAxis: row}
		without := b.rise(cache.Ablate(name, at))
		given := b.rise(cache.Ablate(name, at), cache.Patch(next, at, b.clean))
		ablated, rescued = append(ablated, without), append(rescued, nil)
		if without > leastRise {
			share := 1 - given/without
			rescued[row] = &share
		}
	}
	s.Sites, s.Ablated, s.Rescued = append(s.Sites, name), append(s.Ablated, ablated), append(s.Rescued, rescued)
}

// Table has a row for each site and row of the stream.
func (s *Rescue) Table() figure.Table {
	t := figure.NewTable("A row set to 0, and restored after the next site", "lrrr",
		"after", "row", "loss rises by", "share regained")
	t.Note = "share regained: the part of that rise that goes away when the row is restored after the next site: what only this row held."
	for i, name := range s.Sites {
		for row, rise := range s.Ablated[i] {
			share := "-"
			if v := s.Rescued[i][row]; v != nil {
				share = fmt.Sprintf("%.3f", *v)
			}
			t.Row(name, row, fmt.Sprintf("%+.4f", rise), share)
		}
	}
	return t
}

// Figures returns maps of both measures by site and row.
func (s *Rescue) Figures() []figure.Figure {
	var rows []string
	for row := range s.Ablated[0] {
		rows = append(rows, fmt.Sprint(row))
	}
	regained := make([][]float64, len(s.Sites))
	for i, shares := range s.Rescued {
		for _, v := range shares {
			share := math.NaN()
			if v != nil {
				share = *v
			}
			regained[i] = append(regained[i], share)
		}
	}
	return []figure.Figure{
		figure.Heatmap{Title: "Rise of the loss without a row (nats a token)", XLabel: "row", YLabel: "after", Columns: rows, Rows: s.Sites, Values: s.Ablated,
			Diverging: true},
		figure.Heatmap{Title: "Share regained when the row is restored after the next site", XLabel: "row", YLabel: "after", Columns: rows, Rows: s.Sites,
			Values: regained},
	}
}
