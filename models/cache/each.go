package cache

import (
	"fmt"
	"slices"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models/check"
)

// RunEach runs the model on one row of Seq token ids once for each list of interventions. It takes
// at most Batch lists and computes them as the rows of a single run, which is faster than a run for
// each. The caches, one for each list, have logits and no activations. Interventions must be in
// activations that are PerRow.
func (r *Runner) RunEach(ids []int32, replace [][]Intervention) ([]*Cache, error) {
	if len(ids) != r.options.Seq {
		return nil, check.Valuef("ids", len(ids), "%d, one row", r.options.Seq)
	}
	if len(replace) < 1 || len(replace) > r.options.Batch {
		return nil, check.Valuef("replace", len(replace), "1 to %d lists, one a row", r.options.Batch)
	}
	input := r.program.Tokens
	for row := range r.options.Batch {
		copy(input[row*len(ids):], ids)
	}
	for _, list := range replace {
		if err := r.check(input, list, len(input)); err != nil {
			return nil, err
		}
		for _, v := range list {
			if !r.PerRow(v.Name) {
				return nil, check.Value("replace "+v.Name, "an activation of each token, or a Runner of one row", fmt.Sprintf("one that %d rows share", r.options.Batch))
			}
		}
	}
	r.replaced, r.each = nil, replace
	logits, err := r.run()
	if err != nil {
		return nil, err
	}
	var caches []*Cache
	size := len(logits) / r.options.Batch
	for row := range replace {
		caches = append(caches, r.cache(ids, logits[row*size:][:size]))
	}
	return caches, nil
}

// PerRow tells whether each row has entries of its own in an activation. In a Runner of several
// rows some activations may be shared by all rows.
func (r *Runner) PerRow(name string) bool {
	a, known := r.hooked[name]
	return known && (r.options.Batch == 1 || a.Axes[0] == graph.TokenAxis && a.Shape[0] == len(r.program.Tokens))
}

// row returns one row's part of an activation, which shares its memory.
func (r *Runner) row(a Activation, row int) Activation {
	if r.options.Batch == 1 {
		return a
	}
	size := len(a.Values) / r.options.Batch
	shape := slices.Clone(a.Shape)
	shape[0] /= r.options.Batch
	return Activation{Name: a.Name, Axes: a.Axes, Shape: shape, Values: a.Values[row*size:][:size]}
}
