package analysis

import (
	"cmp"
	"context"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/mixing"
)

// baseline is an untouched run, with which runs with ablations are compared.
type baseline struct {
	*cache.Runner
	ctx   context.Context // ends the runs
	clean *cache.Cache
	loss  float64 // nats a token
	err   error   // of the first run that failed
}

// newBaseline runs a model on a row of token ids, at least two, so that the named activations can
// be replaced. Close it after use.
func newBaseline(ctx context.Context, store *graph.Store, spec models.Spec, ids []int32, names []string) (*baseline, error) {
	r, err := cache.ForRow(store, spec, ids, names...)
	if err != nil {
		return nil, err
	}
	clean, err := r.Run(ids)
	if err != nil {
		r.Close()
		return nil, err
	}
	return &baseline{Runner: r, ctx: ctx, clean: clean, loss: clean.NextTokenLoss()}, nil
}

// unmixed returns mixing.ErrNone, wrapped with what the stream lacks.
func unmixed(spec models.Spec, what string) error {
	return errors.Wrapf(mixing.ErrNone, "%s stream: %s", spec.Stream.Name(), what)
}

// rise returns how much interventions raise the loss above the untouched run's.
func (b *baseline) rise(replace ...cache.Intervention) float64 {
	if b.err = cmp.Or(b.err, b.ctx.Err()); b.err != nil {
		return 0
	}
	loss, err := b.Loss(b.clean.IDs, replace...)
	b.err = err
	return loss - b.loss
}
