// Package corpus runs a model on the rows of a text, one at a time, for analyses of more
// activations than memory holds.
package corpus

import (
	"slices"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
)

// Row is a row of tokens that a model reads together.
type Row struct {
	IDs       []int32
	Documents []int32 // the number of each token's document in the text
}

// Cut cuts a text into rows of at most seq tokens. A document begins at each token that equals
// begin; with a begin of -1 the text is one document. Documents are numbered from first.
func Cut(ids []int32, seq int, begin, first int32) []Row {
	documents := make([]int32, len(ids))
	for i, id := range ids {
		if id == begin && i > 0 {
			first++
		}
		documents[i] = first
	}
	var rows []Row
	for from := 0; from < len(ids); from += seq {
		to := min(from+seq, len(ids))
		rows = append(rows, Row{ids[from:to], documents[from:to]})
	}
	return rows
}

// Reader runs a model on rows.
type Reader struct {
	// Tokens describe the activations: name, and the axes and shape of one token's entries.
	Tokens []cache.Activation

	rows   []Row
	seq    int
	runner *cache.Runner
}

// Open prepares to read named activations, which must all have a token axis. Close the Reader after
// use.
func Open(store *graph.Store, spec models.Spec, rows []Row, names ...string) (*Reader, error) {
	if len(rows) == 0 {
		return nil, check.NoPrompt()
	}
	r := &Reader{rows: rows}
	for _, row := range rows {
		r.seq = max(r.seq, len(row.IDs))
	}
	var err error
	if r.runner, err = cache.New(store, spec, cache.Options{Names: names, Seq: r.seq}); err != nil {
		return nil, err
	}
	kept := r.runner.Names()
	for _, a := range r.runner.Model().Builder().Activations() {
		switch {
		case !slices.Contains(kept, a.Name):
		case a.Axes[0] != graph.TokenAxis || a.Shape[0] != r.seq:
			r.Close()
			return nil, check.Valuef("activation "+a.Name, a.Axes, "one with entries of its own for each token")
		default:
			r.Tokens = append(r.Tokens, cache.Activation{Name: a.Name, Axes: a.Axes[1:], Shape: a.Shape[1:]})
		}
	}
	return r, nil
}

// Close ends the Reader.
func (r *Reader) Close() { r.runner.Close() }

// Row runs the model on row i and returns the activations, in the order of Tokens; their first axis
// is the row's tokens. A row that is shorter than the longest one is filled up with tokens after
// its own, which its own tokens do not see. So an axis of keys has the length of the longest row.
func (r *Reader) Row(i int) ([]cache.Activation, error) {
	ids := r.rows[i].IDs
	run, err := r.runner.Run(append(slices.Clone(ids), make([]int32, r.seq-len(ids))...))
	if err != nil {
		return nil, err
	}
	var all []cache.Activation
	for _, t := range r.Tokens {
		a, err := run.Get(t.Name)
		if err != nil {
			return nil, err
		}
		size := len(a.Values) / r.seq
		a.Shape = append([]int{len(ids)}, t.Shape...)
		a.Values = a.Values[:len(ids)*size]
		all = append(all, a)
	}
	return all, nil
}
