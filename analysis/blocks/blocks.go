// Package blocks measures what each block of a model, and each sublayer in it, contributes to the
// loss.
package blocks

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
)

// Worth says by how much the mean loss of the next token rises when a block or a sublayer writes
// nothing: the activations that it writes are set to 0 at all tokens, but biases added after them
// stay.
type Worth struct {
	Rows  int     `json:"rows"`  // of text that it is averaged over
	Loss  float64 `json:"loss"`  // of the whole model, nats a token
	Parts []Part  `json:"parts"` // each block's sublayers, then the block
}

// Part is a block or a sublayer.
type Part struct {
	Name          string  `json:"name"`           // "blocks.3.attention", "blocks.3"
	Rise          float64 `json:"rise"`           // of the loss without it, nats a token
	StandardError float64 `json:"standard_error"` // over rows; 0 for one row

	writes []cache.Intervention
}

// Ablate measures the parts of a model on rows of token ids, which must all have the same
// length of at least 2. threads is the number of threads to use; 0: one for each core.
func Ablate(ctx context.Context, store *graph.Store, spec models.Spec, rows [][]int32, threads int) (*Worth, error) {
	if len(rows) == 0 || len(rows[0]) < 2 {
		return nil, check.Value("rows", "at least one, of 2 tokens or more", len(rows))
	}
	w := &Worth{Rows: len(rows)}
	names, err := w.findParts(store, spec)
	if err != nil {
		return nil, err
	}
	r, err := cache.New(store, spec, cache.Options{Names: names, Seq: len(rows[0]), Threads: threads})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	rises := make([][]float64, len(w.Parts)) // [part][row]
	for _, ids := range rows {
		whole, err := r.Loss(ids)
		if err != nil {
			return nil, err
		}
		w.Loss += whole / float64(len(rows))
		for i, p := range w.Parts {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			without, err := r.Loss(ids, p.writes...)
			if err != nil {
				return nil, err
			}
			rises[i] = append(rises[i], without-whole)
		}
	}
	for i := range w.Parts {
		w.Parts[i].Rise = stat.Mean(rises[i], nil)
		if n := float64(len(rows)); n > 1 {
			w.Parts[i].StandardError = stat.StdDev(rises[i], nil) / math.Sqrt(n)
		}
	}
	return w, nil
}

// findParts lists the blocks and their sublayers, and returns the names of all that they write.
func (w *Worth) findParts(store *graph.Store, spec models.Spec) (names []string, err error) {
	sketch, err := cache.Sketch(store, spec)
	if err != nil {
		return nil, err
	}
	for l := range spec.Depth() {
		block := Part{Name: fmt.Sprintf("blocks.%d", l)}
		for _, writer := range sketch.Writers() {
			if !strings.HasPrefix(writer.Name, block.Name+".") {
				continue
			}
			off := cache.Ablate(writer.Activation, nil)
			w.Parts = append(w.Parts, Part{Name: writer.Name, writes: []cache.Intervention{off}})
			block.writes, names = append(block.writes, off), append(names, writer.Activation)
		}
		w.Parts = append(w.Parts, block)
	}
	return names, nil
}

// Idle names the parts without which the loss rises by less than the given number of nats. It
// names a sublayer only if its block raises the loss by at least that much.
func (w *Worth) Idle(nats float64) (names []string) {
	for _, p := range slices.Backward(w.Parts) {
		inIdle := slices.ContainsFunc(names, func(block string) bool { return strings.HasPrefix(p.Name, block+".") })
		if p.Rise < nats && !inIdle {
			names = append(names, p.Name)
		}
	}
	slices.Reverse(names)
	return names
}

func (w *Worth) title() string {
	return fmt.Sprintf("rise of the loss (%.4f nats a token) without a part, mean over %d rows", w.Loss, w.Rows)
}

// Table lists the parts in the order of the run.
func (w *Worth) Table() figure.Table {
	t := figure.NewTable(w.title(), "lrr", "without", "rise, nats", "standard error")
	for _, p := range w.Parts {
		t.Row(p.Name, p.Rise, p.StandardError)
	}
	return t
}

// Figures returns bars of the rises.
func (w *Worth) Figures() []figure.Figure {
	b := figure.Bars{Title: w.title(), YLabel: "nats a token"}
	for _, p := range w.Parts {
		b.Add(p.Name, p.Rise, p.StandardError)
	}
	return []figure.Figure{b}
}
