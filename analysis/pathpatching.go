package analysis

import (
	"cmp"
	"context"
	"strings"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/stream"
)

// PathPatch measures each head's path to one activation alone (path patching; Wang et al. 2022,
// arXiv 2211.00593, section 3.1; Goldowsky-Dill et al. 2023, arXiv 2304.05969). For each head it
// makes two corrupt runs. In the first, the head's output is the clean run's at all tokens, and the
// outputs of all other heads and what feed-forwards write are held at the corrupt run's. The
// activation named to, as this run computes it, replaces the second run's at the entries at; the
// effect is on the second run's metric. With "logits" it is the head's direct effect on the logits.
// The result has one row for each layer and one column for each head; heads after the activation
// have no effect.
func PathPatch(ctx context.Context, store *graph.Store, spec models.Spec, clean, corrupt []int32, m Metric, to string, at cache.At) (*Patching, error) {
	if err := checkPair(clean, corrupt); err != nil {
		return nil, err
	}
	p := headPlaces(spec)
	p.title = "Patching the paths from heads to " + to
	all, err := cache.Names(store, spec)
	if err != nil {
		return nil, err
	}
	names := append([]string{to}, p.names...)
	for _, name := range all {
		if strings.HasSuffix(name, "."+string(stream.FeedForward)+".write") {
			names = append(names, name)
		}
	}
	r, err := cache.ForRow(store, spec, clean, names...)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	from, err := r.Run(clean)
	if err != nil {
		return nil, err
	}
	base, err := r.Run(corrupt)
	if err != nil {
		return nil, err
	}
	result := p.result(m)
	if result.Clean, err = m.Of(from); err == nil {
		result.Baseline, err = m.Of(base)
	}
	if err != nil {
		return nil, err
	}
	var held []cache.Intervention
	for _, name := range r.Names() {
		if name != to {
			held = append(held, cache.Patch(name, nil, base))
		}
	}
	for _, name := range p.names {
		effects := make([]float64, p.columns)
		for head := range effects {
			run, err := r.Run(corrupt, append(held[:len(held):len(held)], cache.Patch(name, cache.At{p.axis: head}, from))...)
			if err == nil {
				run, err = r.Run(corrupt, cache.Patch(to, at, run))
			}
			if err := cmp.Or(err, ctx.Err()); err != nil {
				return nil, err
			}
			value, err := m.Of(run)
			if err != nil {
				return nil, err
			}
			effects[head] = value - result.Baseline
		}
		result.add(name, effects)
	}
	return result, result.normalise()
}
