// Package mixing measures whether a stream that can mix really does: how far its coefficients have
// moved from their start, how much they amplify through depth, and how they spread over earlier
// layers.
package mixing

import (
	"slices"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/stream"
)

// ErrNone reports that a stream has no coefficients.
var ErrNone = errors.New("want a stream with mixing coefficients, or with weighted sums over depth, got one without")

// Coefficients holds the coefficients of one run: at each place, a matrix for each token.
type Coefficients struct {
	Tokens  int
	places  []place
	sources []string // of sums over depth
	reads   []stream.DepthRead
}

// place holds the matrices of coefficients at one place, one for each token.
type place struct {
	stream.Mixing
	values []float64 // [T, rows, columns]
}

// matrix returns a token's matrix, row by row.
func (p place) matrix(token int) []float64 {
	size := p.Rows * p.Columns
	return p.values[token*size:][:size]
}

// Run runs a model on a row of token ids and keeps its coefficients. For a stream without any it
// returns an error that wraps ErrNone.
func Run(store *graph.Store, spec models.Spec, ids []int32) (*Coefficients, error) {
	s, mixings, err := findMixings(store, spec)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range mixings {
		if !slices.Contains(names, m.Hook) {
			names = append(names, m.Hook)
		}
	}
	run, err := cache.Once(store, spec, ids, names...)
	if err != nil {
		return nil, err
	}
	all := &Coefficients{Tokens: run.Tokens()}
	if d, ok := s.(stream.DepthReader); ok {
		all.sources, all.reads = d.DepthReads()
	}
	for _, m := range mixings {
		a, _ := run.Get(m.Hook) // no error: the run has kept it
		stride := 0
		if a.Axis(graph.TokenAxis) >= 0 {
			stride = len(a.Values) / run.Tokens()
		}
		all.places = append(all.places, place{m, unpack(a.Values, m, run.Tokens(), stride)})
	}
	return all, nil
}

// Start returns the coefficients of a model before its first step, from a seed.
func Start(spec models.Spec, seed uint64, ids []int32) (*Coefficients, error) {
	store, err := atStart(spec, seed)
	if err != nil {
		return nil, err
	}
	return Run(store, spec, ids)
}

// Check returns an error that wraps ErrNone if a model's stream has no coefficients.
func Check(spec models.Spec) error {
	store, err := atStart(spec, 0)
	if err == nil {
		_, _, err = findMixings(store, spec)
	}
	return err
}

// atStart returns a model's parameters before its first step.
func atStart(spec models.Spec, seed uint64) (*graph.Store, error) {
	store := graph.NewStore(tensor.Float32, seed)
	_, err := models.New(gorgonia.NewGraph(), spec, graph.Options{Store: store})
	return store, err
}

// findMixings returns a model's stream, and which coefficients it has, or an error that wraps
// ErrNone.
func findMixings(store *graph.Store, spec models.Spec) (stream.Stream, []stream.Mixing, error) {
	sketch, err := cache.Sketch(store, spec)
	if err != nil {
		return nil, nil, err
	}
	all := stream.Mixings(sketch.Stream())
	if len(all) == 0 {
		return nil, nil, errors.Wrapf(ErrNone, "%s stream", spec.Stream.Name())
	}
	return sketch.Stream(), all, nil
}

// unpack copies the matrices of a hook's values into [tokens, rows, columns]. The values of one
// token begin stride after those of the token before; 0: all tokens share them.
func unpack(values []float64, m stream.Mixing, tokens, stride int) []float64 {
	out := make([]float64, 0, tokens*m.Rows*m.Columns)
	for t := range tokens {
		for i := range m.Rows {
			for j := range m.Columns {
				at := i*m.Columns + j
				if m.Entry != nil {
					at = m.Entry(i, j)
				}
				v := values[t*stride+at]
				if m.Of != nil {
					v = m.Of(v)
				}
				out = append(out, v)
			}
		}
	}
	return out
}
