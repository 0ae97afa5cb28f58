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

// SourceRescue measures what sources of sums over depth contribute, as Rescue does for rows (after
// arXiv 2603.14833, which ablates rows). A source's weight is set to 0 in all sums, while the other
// weights stay as the run computes them; then the source is kept in one of the sums only. What that
// regains is what this reader needs from the source. A sum of one source has no weight, so it keeps
// its source.
type SourceRescue struct {
	Loss    float64      `json:"loss"` // of the untouched run, nats a token
	Sources []string     `json:"sources"`
	Readers []string     `json:"readers"` // of the sums that have weights
	Ablated []float64    `json:"ablated"` // what the loss rises by, [source], nats a token
	Left    [][]*float64 `json:"left"`    // what it rises by where one reader alone keeps the source, [source][reader]; null: it does not read it
}

// depthSum is the sum over depth of one reader.
type depthSum struct {
	stream.DepthRead
	reader int // index of DepthRead.Readers
}

// column returns where the hook's values for a token have the source's weight; -1 if the source
// has no weight in this sum.
func (s depthSum) column(source int) int {
	j := slices.Index(s.Of, source)
	if j < 0 {
		return -1
	}
	return s.reader*len(s.Of) + j
}

// AblateSources ablates and rescues each source that a stream reads by weights, on a row of at
// least two token ids. For a stream without such sources the error wraps mixing.ErrNone.
func AblateSources(ctx context.Context, store *graph.Store, spec models.Spec, ids []int32) (*SourceRescue, error) {
	sketch, err := cache.Sketch(store, spec)
	if err != nil {
		return nil, err
	}
	result := &SourceRescue{}
	var sums []depthSum
	var hooks []string
	if d, ok := sketch.Stream().(stream.DepthReader); ok {
		var reads []stream.DepthRead
		result.Sources, reads = d.DepthReads()
		for _, r := range reads {
			if r.Weights == "" {
				continue
			}
			hooks = append(hooks, r.Weights)
			for i, reader := range r.Readers {
				sums, result.Readers = append(sums, depthSum{r, i}), append(result.Readers, reader)
			}
		}
	}
	if len(sums) == 0 {
		return nil, unmixed(spec, "sums over depth")
	}
	b, err := newBaseline(ctx, store, spec, ids, hooks)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	result.Loss = b.loss
	for source := range result.Sources {
		result.source(b, sums, source)
	}
	return result, b.err
}

// source ablates one source in all sums, then in all sums except one, for each.
func (s *SourceRescue) source(b *baseline, sums []depthSum, source int) {
	without := func(kept int) float64 {
		var replace []cache.Intervention
		for i, sum := range sums {
			j := sum.column(source)
			if j < 0 || i == kept {
				continue
			}
			weights, _ := b.clean.Get(sum.Weights) // which the run has kept
			replace = append(replace, cache.Ablate(sum.Weights, cache.At{weights.Axes[len(weights.Axes)-1]: j}))
		}
		return b.rise(replace...)
	}
	all := without(-1)
	left := make([]*float64, len(sums))
	for i, sum := range sums {
		if sum.column(source) >= 0 {
			rise := without(i)
			left[i] = &rise
		}
	}
	s.Ablated, s.Left = append(s.Ablated, all), append(s.Left, left)
}

// regained returns the share of the rise of the loss that goes away if one reader keeps the
// source; NaN if the reader does not read the source, or if the loss hardly rises.
func (s *SourceRescue) regained(source, reader int) float64 {
	left := s.Left[source][reader]
	if left == nil || s.Ablated[source] <= leastRise {
		return math.NaN()
	}
	return 1 - *left/s.Ablated[source]
}

// Table has a line for each source, and the reader that regains most of it.
func (s *SourceRescue) Table() figure.Table {
	t := figure.NewTable("A source left out of all sums, and kept by one reader", "lrlr",
		"source", "loss rises by", "most is regained by", "share regained")
	t.Note = "share regained: of that rise, when this reader alone keeps the source: what it needs of it."
	for i, source := range s.Sources {
		cells := []string{source, fmt.Sprintf("%+.4f", s.Ablated[i]), "-", "-"}
		most := math.Inf(-1)
		for j, reader := range s.Readers {
			if share := s.regained(i, j); share > most { // not NaN
				most, cells[2], cells[3] = share, reader, fmt.Sprintf("%.3f", share)
			}
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// Figures are the rise of the loss by source, and the share regained by source and reader.
func (s *SourceRescue) Figures() []figure.Figure {
	regained := figure.Heatmap{Title: "Share of the rise of the loss that goes away when one reader keeps the source", XLabel: "source", YLabel: "reader",
		Columns: s.Sources, Rows: s.Readers, Diverging: true, Limits: []float64{-1, 1}}
	for j := range s.Readers {
		var row []float64
		for i := range s.Sources {
			row = append(row, s.regained(i, j))
		}
		regained.Values = append(regained.Values, row)
	}
	return []figure.Figure{
		figure.Bars{Title: "Rise of the loss without a source (nats a token)", YLabel: "nats", Labels: s.Sources, Values: s.Ablated},
		regained,
	}
}
