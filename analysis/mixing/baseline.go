package mixing

import (
	"github.com/residua-go/residua/analysis/cache"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// baseline is an untouched run, with which runs that something is taken away from are compared.
type baseline struct {
	*cache.Runner
	clean *cache.Cache
	loss  float64 // nats a token
}

// newBaseline runs a model on a row of token ids, at least two, so that the named activations can be replaced. Close it
// after use.
func newBaseline(store *graph.Store, c models.Spec, ids []int32, names []string) (*baseline, error) {
	r, err := cache.New(store, c, cache.Options{Names: names, Seq: len(ids)})
	if err != nil {
		return nil, err
	}
	b := &baseline{Runner: r}
	if b.clean, err = r.Run(ids); err == nil {
		b.loss, err = b.clean.NextTokenLoss()
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return b, nil
}

// rise returns how much interventions raise the loss above the untouched run's.
func (b *baseline) rise(replace ...cache.Intervention) (float64, error) {
	run, err := b.Run(b.clean.IDs, replace...)
	if err != nil {
		return 0, err
	}
	loss, err := run.NextTokenLoss()
	return loss - b.loss, err
}
