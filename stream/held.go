package stream

import (
	"slices"
	"strings"

	"github.com/pkg/errors"
	"gonum.org/v1/gonum/floats"

	"github.com/residua-go/residua/stream/linear"
)

// Held is the stream of one run as a linear map, token by token, of what is written to it.
// A stream is a chain of K steps; before or between them, sources write and sites read. With
// the coefficients of the run held, for each token (Elhage et al. 2021, "A Mathematical
// Framework for Transformer Circuits", whose residual stream has steps that do nothing)
//
//	end = sum over sources s of C_s y_s + Constant,   C_s = M_K ... M_(s+1) U_s
//	read = D_r (sum over earlier sources s of M_r ... M_(s+1) U_s y_s) + Constant
//
// where U_s is how a source writes y_s into the state (for a matrix stream by its keys, for
// hyper-connections by B_up), D_r how a site reads it (A_down), and M_k what step k makes of
// the state: vector and matrix streams have no steps, hyper-connections, mHC and virtual width
// networks have A_res at each site, the depth-wise LSTM its gates, hierarchical aggregation
// its norms at the scale of the run.
//
// The state may have more entries after a step than before it, or fewer.
//
// A stream makes it in the order of its run by Enter, Read, Step and Add, and ReadOut at last.
// For the two sites of a block with hyper-connections:
//
//	Enter embedding, Enter positions, Read attention, Step A_res, Enter attention,
//	Read feedforward, Step A_res, Enter feedforward
//
// Slices that methods return are the caller's.
type Held struct {
	tokens, size int
	steps        []linear.Map
	sources      []source
	reads        []tap
	constants    []source // their up maps nothing: value is what they are
	end          tap
}

// source is where something enters the state: before step number at, after the first reads
// sites that read it.
type source struct {
	name      string
	at, reads int
	up        linear.Map
	value     []float64 // of a constant, in the state's entries
}

// tap is where a site reads the state, before step number at; after is what follows there.
type tap struct {
	name  string
	at    int
	down  linear.Map
	after After
}

// After are the maps that follow where u, [T, ...], is read, norms at the scales that they have
// for it, or at 1 without it; and the constant that their biases come to, or nil.
type After func(u []float64) (linear.Chain, []float64)

// NewHeld begins the stream of a run of tokens; a token's state ends as size entries. Without a
// record, of which no tokens are known, it is that of one.
func NewHeld(r Record, size int) *Held {
	if r == nil {
		return &Held{tokens: 1, size: size}
	}
	return &Held{tokens: r.Tokens(), size: size}
}

// Enter says that a source writes to the state by a map, before the next step.
func (h *Held) Enter(name string, up linear.Map) {
	h.sources = append(h.sources, source{name: name, at: len(h.steps), reads: len(h.reads), up: up})
}

// Through puts a map before that by which a source enters: what is written there goes through m
// first. A stream that embeds another one says by it what it makes of a sublayer's output. It is an
// error if there is no such source.
func (h *Held) Through(source string, m linear.Map) error {
	for i, s := range h.sources {
		if s.name == source {
			h.sources[i].up = linear.Chain{m, s.up}
			return nil
		}
	}
	return errors.Errorf("stream: nothing is written at %q; want one of %s", source, strings.Join(h.Sources(), ", "))
}

// Read says that a site reads the state by a map, before the next step, and by which further
// maps of the stream's own its block gets that; nil: by none that is linear.
func (h *Held) Read(name string, down linear.Map, after After) {
	h.reads = append(h.reads, tap{name, len(h.steps), down, after})
}

// Step carries the state by a map.
func (h *Held) Step(m linear.Map) { h.steps = append(h.steps, m) }

// Add adds a constant to the state of all tokens, before the next step; nil is none.
func (h *Held) Add(value []float64) {
	if value != nil {
		h.constants = append(h.constants, source{at: len(h.steps), reads: len(h.reads), value: value})
	}
}

// ReadOut says how the end is read, which becomes the features.
func (h *Held) ReadOut(down linear.Map, after After) {
	h.end = tap{AtEnd, len(h.steps), down, after}
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

// Readers lists the sites that read the stream, in order.
func (h *Held) Readers() []string {
	var names []string
	for _, t := range h.reads {
		names = append(names, t.name)
	}
	return names
}

// Carry is C_s y: it takes what enters at a source for one token, y [width], to the end of
// the stream [Size]. It is an error if there is no such source or token, or y has another
// width than what the source writes.
func (h *Held) Carry(source string, token int, y []float64) ([]float64, error) {
	s, err := h.sourceOf(source, token, len(y))
	if err != nil {
		return nil, err
	}
	return slices.Clone(h.walk(s.at, len(h.steps), token, s.up.Apply(token, y))), nil
}

// CarryTo takes what enters at a source for one token, y [width], to what the site reader
// reads: for a matrix stream a matrix [Dk, Dv], for all others u [D], before the site's norm.
// It is nil where the source comes after the reader. Errors are those of Carry, and a reader
// that there is not.
func (h *Held) CarryTo(source, reader string, token int, y []float64) ([]float64, error) {
	s, err := h.sourceOf(source, token, len(y))
	if err != nil {
		return nil, err
	}
	i, err := h.reader(reader)
	if err != nil || s.reads > i {
		return nil, err
	}
	t := h.reads[i]
	return slices.Clone(t.down.Apply(token, h.walk(s.at, t.at, token, s.up.Apply(token, y)))), nil
}

// PullBack is the transpose of Carry for all sources at once: what a direction at the end
// [Size] is, for one token, as a direction C_s^T direction of what enters at each source
// [width].
func (h *Held) PullBack(token int, direction []float64) (map[string][]float64, error) {
	if err := checkEntries("the end", token, h.tokens, len(direction), h.size); err != nil {
		return nil, err
	}
	at := map[string][]float64{}
	for k := len(h.steps); k >= 0; k-- {
		if k < len(h.steps) {
			direction = h.steps[k].Transpose(token, direction)
		}
		for _, s := range h.sources {
			if s.at == k {
				at[s.name] = slices.Clone(s.up.Transpose(token, direction))
			}
		}
	}
	return at, nil
}

// Constant is what the end [Size] of a token has from no source: the biases of norms that
// are held on the way.
func (h *Held) Constant(token int) ([]float64, error) {
	if err := checkToken(token, h.tokens); err != nil {
		return nil, err
	}
	sum := make([]float64, h.size)
	for _, c := range h.constants {
		floats.Add(sum, h.walk(c.at, len(h.steps), token, c.value))
	}
	return sum, nil
}

// ConstantTo is what the site reader reads for a token from no source: with what CarryTo takes
// there from all sources it is all that the site reads.
func (h *Held) ConstantTo(reader string, token int) ([]float64, error) {
	i, err := h.reader(reader)
	if err != nil {
		return nil, err
	}
	if err := checkToken(token, h.tokens); err != nil {
		return nil, err
	}
	t := h.reads[i]
	_, width := t.down.Sizes()
	sum := make([]float64, width)
	for _, c := range h.constants {
		if c.reads <= i {
			floats.Add(sum, t.down.Apply(token, h.walk(c.at, t.at, token, c.value)))
		}
	}
	return sum, nil
}

// walk takes a state through the steps from and up to, without the latter.
func (h *Held) walk(from, to, token int, x []float64) []float64 {
	for _, step := range h.steps[from:to] {
		x = step.Apply(token, x)
	}
	return x
}

// source finds a source.
func (h *Held) source(name string) (source, error) {
	i := slices.IndexFunc(h.sources, func(s source) bool { return s.name == name })
	if i < 0 {
		return source{}, errors.Errorf("stream: nothing is written at %q; want one of %s", name, strings.Join(h.Sources(), ", "))
	}
	return h.sources[i], nil
}

// sourceOf finds a source for a token and something of some entries to write there.
func (h *Held) sourceOf(name string, token, entries int) (source, error) {
	s, err := h.source(name)
	if err != nil {
		return s, err
	}
	width, _ := s.up.Sizes()
	return s, checkEntries(name, token, h.tokens, entries, width)
}

// reader finds a site that reads.
func (h *Held) reader(name string) (int, error) {
	i := slices.IndexFunc(h.reads, func(t tap) bool { return t.name == name })
	if i < 0 {
		return 0, errors.Errorf("stream: no site %q reads this stream; want one of %s", name, strings.Join(h.Readers(), ", "))
	}
	return i, nil
}

func checkToken(token, tokens int) error {
	if token < 0 || token >= tokens {
		return errors.Errorf("stream: token: want 0 to %d, got %d", tokens-1, token)
	}
	return nil
}

// checkEntries refuses a token that there is not, and another number of entries than wanted.
func checkEntries(where string, token, tokens, got, want int) error {
	if err := checkToken(token, tokens); err != nil {
		return err
	}
	if got != want {
		return errors.Errorf("stream: %s: want %d entries of a token, got %d", where, want, got)
	}
	return nil
}
