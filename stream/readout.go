package stream

import (
	"slices"

	"github.com/pkg/errors"
)

// Readout is the way from the end of a stream to the model's features with the scales of the
// norms on it held at what they are for one end: for token t, with R_t linear,
//
//	features_t = R_t end_t + Constant
type Readout struct {
	tokens, size int
	maps         []linearMap // R, first to last
	constant     []float64   // [F], or nil
}

// Readout holds the way from the end of the stream, [T, Size], to the model's features [F] at
// the scales that the norms on it have for that end. It is an error if the end has not as many
// entries.
func (h *Held) Readout(end []float64) (*Readout, error) {
	if len(end) != h.tokens*h.size {
		return nil, errors.Errorf("stream: readout: want the ends of %d tokens of %d entries, got %d entries", h.tokens, h.size, len(end))
	}
	r := h.readout(end)
	r.tokens, r.size = h.tokens, h.size
	return r, nil
}

// Features is R_t x, the linear part of a token's features [F] for a part x of its end [Size].
// It is an error if there is no such token or x has another size.
func (r *Readout) Features(token int, x []float64) ([]float64, error) {
	if err := checkEntries("readout", token, r.tokens, len(x), r.size); err != nil {
		return nil, err
	}
	for _, m := range r.maps {
		x = m.apply(token, x)
	}
	return slices.Clone(x), nil
}

// PullBack is the transpose of Features, [F] -> [Size]: what a direction of the features is at
// the stream's end.
func (r *Readout) PullBack(token int, direction []float64) ([]float64, error) {
	features := r.size
	if n := len(r.maps); n > 0 {
		_, features = r.maps[n-1].sizes()
	}
	if err := checkEntries("readout", token, r.tokens, len(direction), features); err != nil {
		return nil, err
	}
	for _, m := range slices.Backward(r.maps) {
		direction = m.transpose(token, direction)
	}
	return slices.Clone(direction), nil
}

// Constant is what features [F] have from no part of the end, the biases of norms; nil:
// nothing.
func (r *Readout) Constant() []float64 { return slices.Clone(r.constant) }
