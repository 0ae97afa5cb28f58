package stream

import (
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
)

// Writer is something that writes to the stream: its parts' terms add up, with those of the
// other writers, to the end of the stream.
type Writer struct {
	Name string // "embedding", "blocks.3.attention", "blocks.1.aggregate"
	// Part is what the parts are, "head", "neuron", "expert"; "" for a writer of one part.
	Part  string
	Parts int // of heads, 0: as many as the model has
	// Activation is the hook whose value is written, [T, ...]: each part has its share of a
	// token's entries, in order.
	Activation string
	// Weight is the parameter [entries, width] between the activation and the stream; "":
	// the activation enters as it is.
	Weight string
	// Whole: without a weight, each part is as wide as what enters, and they are added;
	// otherwise they stand side by side.
	Whole bool
	Bias  string // parameter [width] that enters beside the parts, or ""
	// Source is where the parts enter the stream, a name that Held knows.
	Source string
}

// Record is what a run left.
type Record interface {
	Tokens() int
	// Activation returns the value of a hook, [T, ...].
	Activation(name string) ([]float64, error)
}

// Additive is a stream whose end is a sum over what was written to it, once all that the
// run made of its input (mixing coefficients, gates, the scales of norms) is held. All
// streams of this package are.
type Additive interface {
	Stream
	// Writers lists the stream's own writers: tables, heads, what the design adds. What
	// feed-forwards write enters at the names of their sites.
	Writers() []Writer
	// End is the hook of the stream's end, [T, ...], which Features reads.
	End() string
	// Holds lists the hooks whose values Hold needs.
	Holds() []string
	// Hold returns the stream of a run with its coefficients held.
	Hold(r Record) (*Held, error)
}

// Held is the stream of one run as a linear map, token by token, of what is written to it:
//
//	end = sum over sources s of C_s y_s + Constant,   C_s = M_K ... M_(s+1) U_s
//
// where U_s is how a source writes (for a matrix stream its keys, for hyper-connections
// B_up) and M_k what step k makes of the state: the identity for vector and matrix streams,
// A_res for hyper-connections, mHC and virtual width networks, gates for the depth-wise
// LSTM, frozen norms for hierarchical aggregation.
type Held struct {
	tokens, size int
	steps        []linearMap
	sources      []source
	reads        []tap
	constants    []source // their up maps nothing: constant gives the value
	readout      func(end []float64) *Readout
}

// source is where something enters the state: before step number at.
type source struct {
	name  string
	at    int
	up    linearMap
	value []float64 // of a constant, [width]
}

// tap is where a site reads the state, before step number at.
type tap struct {
	name string
	at   int
	down linearMap
}

// Tokens is the number of tokens of the run.
func (h *Held) Tokens() int { return h.tokens }

// Size is the number of entries of a token at the stream's end.
func (h *Held) Size() int { return h.size }

// Sources lists where terms enter, in order.
func (h *Held) Sources() []string {
	var names []string
	for _, s := range h.sources {
		names = append(names, s.name)
	}
	return names
}

// Carry takes what enters at a source for one token, [width], to the end of the stream
// [Size].
func (h *Held) Carry(source string, token int, y []float64) ([]float64, error) {
	s, err := h.source(source, token)
	if err != nil {
		return nil, err
	}
	return slices.Clone(h.walk(s.at, len(h.steps), token, s.up.apply(token, y))), nil
}

// walk takes a state through the steps from and up to.
func (h *Held) walk(from, to, token int, x []float64) []float64 {
	for _, step := range h.steps[from:to] {
		x = step.apply(token, x)
	}
	return x
}

// CarryTo takes what enters at a source for one token to what the site reader reads: for
// a matrix stream a matrix [Dk, Dv], for all others u [D], before the site's norm. It is
// nil where the source comes behind the reader.
func (h *Held) CarryTo(source, reader string, token int, y []float64) ([]float64, error) {
	s, err := h.source(source, token)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(h.reads, func(t tap) bool { return t.name == reader })
	if i < 0 {
		return nil, errors.Errorf("stream: no site %q reads this stream; want one of %s", reader, strings.Join(h.Readers(), ", "))
	}
	t := h.reads[i]
	if s.at > t.at {
		return nil, nil
	}
	return t.down.apply(token, h.walk(s.at, t.at, token, s.up.apply(token, y))), nil
}

// Readers lists the sites that read the stream, in order.
func (h *Held) Readers() []string {
	var names []string
	for _, t := range h.reads {
		names = append(names, t.name)
	}
	return names
}

// PullBack is the transpose of Carry for all sources at once: what a direction at the end
// [Size] is, for one token, as a direction of what enters at each source [width].
func (h *Held) PullBack(token int, direction []float64) map[string][]float64 {
	at := map[string][]float64{}
	for k := len(h.steps); k >= 0; k-- {
		if k < len(h.steps) {
			direction = h.steps[k].transpose(token, direction)
		}
		for _, s := range h.sources {
			if s.at == k {
				at[s.name] = s.up.transpose(token, direction)
			}
		}
	}
	return at
}

// Constant is what the end [Size] of a token has from no source: the biases of norms that
// are held on the way.
func (h *Held) Constant(token int) []float64 {
	sum := make([]float64, h.size)
	for _, c := range h.constants {
		addTo(sum, h.walk(c.at, len(h.steps), token, c.value))
	}
	return sum
}

// Readout holds the way from the end of the stream, [T, Size], to the model's features at
// the scales that the norms on it have for that end.
func (h *Held) Readout(end []float64) (*Readout, error) {
	if len(end) != h.tokens*h.size {
		return nil, errors.Errorf("stream: readout: want the ends of %d tokens of %d entries, got %d entries", h.tokens, h.size, len(end))
	}
	return h.readout(end), nil
}

func (h *Held) source(name string, token int) (source, error) {
	if token < 0 || token >= h.tokens {
		return source{}, errors.Errorf("stream: token: want 0 to %d, got %d", h.tokens-1, token)
	}
	for _, s := range h.sources {
		if s.name == name {
			return s, nil
		}
	}
	return source{}, errors.Errorf("stream: nothing is written at %q; want one of %s", name, strings.Join(h.Sources(), ", "))
}

// enter adds a source before the next step.
func (h *Held) enter(name string, up linearMap) {
	h.sources = append(h.sources, source{name: name, at: len(h.steps), up: up})
}

// read notes that a site reads the state before the next step.
func (h *Held) read(name string, down linearMap) {
	h.reads = append(h.reads, tap{name, len(h.steps), down})
}

// step adds a step.
func (h *Held) step(m linearMap) { h.steps = append(h.steps, m) }

// add adds a constant before the next step; nil is none.
func (h *Held) add(value []float64) {
	if value != nil {
		h.constants = append(h.constants, source{at: len(h.steps), value: value})
	}
}

// Readout is the way from the end of a stream to the features, held at one end: linear up
// to a constant.
type Readout struct {
	maps     []linearMap
	constant []float64 // [F], or nil
}

// Features is the linear part of a token's features [F] for a part of the end [Size].
func (r *Readout) Features(token int, x []float64) []float64 {
	for _, m := range r.maps {
		x = m.apply(token, x)
	}
	return x
}

// PullBack is the transpose of Features.
func (r *Readout) PullBack(token int, direction []float64) []float64 {
	for i := len(r.maps) - 1; i >= 0; i-- {
		direction = r.maps[i].transpose(token, direction)
	}
	return direction
}

// Constant is what features [F] have from no part of the end, the biases of norms; nil:
// nothing.
func (r *Readout) Constant() []float64 { return r.constant }

// values returns a parameter's values; nil for nil.
func values(b *graph.Builder, name string) []float64 {
	if p := b.Store().Param(name); p != nil {
		return graph.Float64s(p.Value)
	}
	return nil
}

// holdLayerNorm holds a layer's norm at its inputs x, and returns its bias, or nil.
func holdLayerNorm(b *graph.Builder, n *layers.Norm, x []float64) (normMap, []float64) {
	o := n.Options()
	var bias []float64
	if o.Bias != nil {
		bias = values(b, o.Bias.Name())
	}
	return holdNorm(x, values(b, n.Gain().Name()), o), bias
}
