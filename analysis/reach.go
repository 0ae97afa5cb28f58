package analysis

import (
	"slices"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/mixing"
	"github.com/residua-go/residua/stream"
	"github.com/residua-go/residua/stream/linear"
)

// Reach says how much of each source's output each reader reads, on a row of token ids, in a stream
// that mixes rows: the product of the coefficients of the run, A_down A_res ... A_res B_up, one
// number for each token (hyper-connections and similar designs). For a stream where this is not a
// single number the error wraps mixing.ErrNone.
func Reach(store *graph.Store, spec models.Spec, ids []int32) (*mixing.Depth, error) {
	none := unmixed(spec, "writes that reach readers multiplied by one number")
	sketch, err := cache.Sketch(store, spec)
	if err != nil {
		return nil, err
	}
	additive, ok := sketch.Stream().(stream.Additive)
	if !ok || len(additive.FreezeHooks()) == 0 {
		return nil, none
	}
	run, err := cache.Once(store, spec, ids, append(slices.Clone(additive.FreezeHooks()), additive.Output())...)
	if err != nil {
		return nil, err
	}
	frozen, err := run.Model().Stream().(stream.Additive).Freeze(run)
	if err != nil {
		return nil, err
	}
	d := &mixing.Depth{Sources: frozen.Sources()}
	for _, reader := range append(frozen.Readers(), stream.Unembedding) {
		read := mixing.Read{Reader: reader}
		for _, source := range d.Sources {
			maps, _ := frozen.Between(source, reader) // names of its own
			if maps == nil {                          // the source writes after the reader reads
				continue
			}
			if _, is := maps.Mean(frozen.Tokens()).Number(); !is {
				return nil, none
			}
			read.Weights = append(read.Weights, mixing.NewWeight(source, factors(maps, run.Tokens())))
		}
		d.Reads = append(d.Reads, read)
	}
	return d, nil
}

// factors returns, for maps that multiply by a number, that number for each token.
func factors(maps linear.Chain, tokens int) (ofTokens []float64) {
	in, _ := maps.Sizes()
	unit := make([]float64, in)
	unit[0] = 1
	for token := range tokens {
		ofTokens = append(ofTokens, maps.Apply(token, unit)[0])
	}
	return ofTokens
}
