package analysis

import (
	"github.com/pkg/errors"

	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/stream"
	"github.com/residua-go/residua/stream/linear"
)

// carrier computes what a write y becomes on its way to a read: y M, where M is the mean, over the
// tokens of a run, of the stream's own map (stream.Frozen.Between) with its coefficients frozen.
// Without a run, or where nothing depends on one, M comes from the stream's static form. For a
// stream with keys M maps keys, not values.
type carrier struct {
	frozen *stream.Frozen
	seen   map[[2]string]linear.Chain
}

func newCarrier(f *Folded, run *cache.Cache) (*carrier, error) {
	c := &carrier{f.frozen, map[[2]string]linear.Chain{}}
	if run == nil {
		return c, nil
	}
	if err := run.Model().Spec().SameModel(f.c); err != nil {
		return nil, errors.Wrap(err, "run: want one of the same model")
	}
	additive, err := additiveStream(run.Model())
	if err != nil || len(additive.FreezeHooks()) == 0 {
		return c, err
	}
	c.frozen, err = additive.Freeze(run)
	return c, err
}

// between returns M for a write and a read after it.
func (c *carrier) between(w, r end) linear.Chain {
	key := [2]string{w.source, r.source}
	if maps, known := c.seen[key]; known {
		return maps
	}
	chain, _ := c.frozen.Between(w.source, r.source) // names that the form itself lists
	if w.values > 1 {                                // the first map is the keys themselves
		chain = chain[1:]
	}
	if w.mapped {
		chain[0], _ = ownMap(chain[0])
	}
	maps := chain.Mean(c.frozen.Tokens())
	for i, m := range maps {
		if mix, ok := m.(linear.Mix); ok && w.values > 1 {
			mix.Width /= w.values
			maps[i] = mix
		}
	}
	c.seen[key] = maps
	return maps
}
