package stream

import (
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/stream/linear"
)

// Readout is the map from the output of a stream to the model's features, with the scales of its
// norms frozen at their values for one output: for token t, with R_t linear,
//
//	features_t = R_t output_t + Constant
type Readout struct {
	tokens   int
	maps     linear.Chain // R
	constant []float64    // [F], or nil
}

// Readout freezes the map from the output of the stream, [T, Size], to the model's features [F] at
// the scales that its norms have for that output. It returns an error if the output has another
// number of entries.
func (f *Frozen) Readout(end []float64) (*Readout, error) {
	u, err := f.ReadoutInput(end)
	if err != nil {
		return nil, err
	}
	maps, constant := f.output.after(u)
	return &Readout{tokens: f.tokens, maps: append(linear.Chain{f.output.down}, maps...), constant: constant}, nil
}

// Features returns R_t x, the linear part of a token's features [F] for a part x of its end [Size].
// It returns an error if there is no such token or x has another size.
func (r *Readout) Features(token int, x []float64) ([]float64, error) {
	size, _ := r.maps.Sizes()
	if err := checkEntries("readout", token, r.tokens, len(x), size); err != nil {
		return nil, err
	}
	return slices.Clone(r.maps.Apply(token, x)), nil
}

// PullBack is the transpose of Features, [F] -> [Size]: it takes a direction of the features to the
// stream's end.
func (r *Readout) PullBack(token int, direction []float64) ([]float64, error) {
	_, features := r.maps.Sizes()
	if err := checkEntries("readout", token, r.tokens, len(direction), features); err != nil {
		return nil, err
	}
	return slices.Clone(r.maps.Transpose(token, direction)), nil
}

// Constant returns the part of the features [F] that comes from no part of the end: the biases of
// norms; nil if there is none.
func (r *Readout) Constant() []float64 { return slices.Clone(r.constant) }

// ReadoutInput returns what the readout reads of outputs of the stream [T, Size], before any norm:
// [T, U]. It returns an error if the outputs have another number of entries.
func (f *Frozen) ReadoutInput(end []float64) ([]float64, error) {
	if len(end) != f.tokens*f.size {
		return nil, errors.Errorf("stream: readout: want the ends of %d tokens of %d entries, got %d entries", f.tokens, f.size, len(end))
	}
	var u []float64
	for t := range f.tokens {
		u = append(u, f.output.down.Apply(t, end[t*f.size:][:f.size])...)
	}
	return u, nil
}

// ReadoutNorm returns the norm that turns what the readout reads, u [n, F], into features, at the
// scales that it has for u, and its bias or nil. ok is false if anything but a single norm makes
// the features.
func (f *Frozen) ReadoutNorm(u []float64) (norm linear.Norm, bias []float64, ok bool) {
	maps, bias := f.output.after(u)
	if len(maps) == 1 {
		norm, ok = maps[0].(linear.Norm)
	}
	return norm, bias, ok
}
