package stream

import (
	"slices"
	"strings"

	"github.com/pkg/errors"
	"gonum.org/v1/gonum/floats"

	"github.com/residua-go/residua/stream/linear"
)

// Frozen is the stream of one run as a linear map, token by token, of everything that is written to
// it. A stream is a chain of K steps; before or between them, sources write and sites read. With
// the coefficients of the run frozen, for each token (Elhage et al. 2021, "A Mathematical Framework
// for Transformer Circuits", whose residual stream has steps that do nothing)
//
//	output = sum over sources s of C_s y_s + Constant,   C_s = M_K ... M_(s+1) U_s
//	read = D_r (sum over earlier sources s of M_r ... M_(s+1) U_s y_s) + Constant
//
// where U_s is how a source writes y_s into the state (in a matrix stream by its keys, in
// hyper-connections by B_up), D_r how a site reads the state (A_down), and M_k what step k does to
// it: vector and matrix streams have no steps, hyper-connections, mHC and virtual width
// networks have A_res at each site, the depth-wise LSTM its gates, hierarchical aggregation
// its norms at the scale of the run.
//
// The state may have more entries after a step than before it, or fewer.
//
// A stream builds it in the order of its run by calling Write, Read, Step and Add, and ReadOut at
// the end. Recorded returns what the run recorded. For the two sites of a block with
// hyper-connections:
//
//	Write embedding, Write positions, Read attention, Step A_res, Write attention,
//	Read feedforward, Step A_res, Write feedforward
//
// The caller may change the slices that methods return.
type Frozen struct {
	tokens, size int
	steps        []linear.Map
	sources      []source
	reads        []readPoint
	constants    []source // up is not used: value is written directly
	output       readPoint

	record Record
	hooks  []string // with which Recorded was called
	err    error    // the first error while building it
}

// source says where something enters the state: before step number at, and after the first reads
// entries of Frozen.reads.
type source struct {
	name      string
	at, reads int
	up        linear.Map
	value     []float64 // of a constant, in the state's entries
}

// readPoint says where a site reads the state: before step number at. after returns the maps that
// follow the read.
type readPoint struct {
	name  string
	at    int
	down  linear.Map
	after After
}

// After returns the maps between what a site reads, u [T, ...], and the block's input. Norms have
// the scales that they have for u, or 1 if u is nil. The second result is the constant that the
// norms' biases add, or nil.
type After func(u []float64) (linear.Chain, []float64)

// newFrozen begins the stream of a run. Without a record there are no tokens to count, and it
// begins the stream of one token.
func newFrozen(r Record) *Frozen {
	if r == nil {
		return &Frozen{tokens: 1}
	}
	return &Frozen{tokens: r.Tokens(), record: r}
}

// carrier is a stream's description of how it carries what is written to it; the stream's
// methods for analyses use it. Without a record, carry fails only because of a mistake in the
// stream's code.
type carrier struct {
	carry  func(f *Frozen)
	writes *SiteWrites
}

// FreezeHooks lists the hooks that the stream asks a run for.
func (c *carrier) FreezeHooks() []string { return c.Static().hooks }

// Freeze returns the stream of a run with what it recorded.
func (c *carrier) Freeze(r Record) (*Frozen, error) {
	f := newFrozen(r)
	if c.carry(f); f.err != nil {
		return nil, f.err
	}
	return f, nil
}

// Static returns the stream's form from its weights alone.
func (c *carrier) Static() *Frozen {
	f := newFrozen(nil)
	c.carry(f)
	c.writes.own(f)
	return f
}

// Recorded returns what the run recorded for a hook, width entries for each token. It returns nil
// without a run, or after an error, which the stream's Freeze returns.
func (f *Frozen) Recorded(hook string, width int) []float64 {
	x := f.recorded(hook)
	if x != nil && !f.checkRecorded(hook, len(x), width) {
		return nil
	}
	return x
}

// checkRecorded tells whether there are width entries for each token; if not it sets the error.
func (f *Frozen) checkRecorded(hook string, got, width int) bool {
	if got != f.tokens*width {
		f.err = errors.Errorf("stream: %s: want %d entries for each of %d tokens, got %d in all", hook, width, f.tokens, got)
	}
	return f.err == nil
}

// recorded is like Recorded, for any number of entries.
func (f *Frozen) recorded(hook string) (x []float64) {
	if !slices.Contains(f.hooks, hook) {
		f.hooks = append(f.hooks, hook)
	}
	if f.record != nil && f.err == nil {
		x, f.err = f.record.Activation(hook)
	}
	return x
}

// Write adds a source that writes to the state through the map up, before the next step.
func (f *Frozen) Write(name string, up linear.Map) {
	f.sources = append(f.sources, source{name: name, at: len(f.steps), reads: len(f.reads), up: up})
}

// Precompose puts m in front of the map through which a source writes: what is written passes
// through m first. A stream that embeds another one uses it to describe a change of sublayers'
// outputs. If there is no such source, the stream's Freeze returns an error.
func (f *Frozen) Precompose(source string, m linear.Map) {
	i, err := f.source(source)
	if err != nil {
		f.err = err
		return
	}
	f.sources[i].up = linear.Chain{m, f.sources[i].up}
}

// Read adds a site that reads the state through the map down, before the next step. If the stream
// changes what was read before it hands it to the block, after returns these further maps; nil says
// that they are not linear. An attention whose queries, keys and values each read differently adds
// a read for each: "blocks.3.attention.q", ".k" and ".v".
func (f *Frozen) Read(name string, down linear.Map, after After) {
	f.reads = append(f.reads, readPoint{name, len(f.steps), down, after})
}

// Step adds a step: the state passes through m.
func (f *Frozen) Step(m linear.Map) { f.steps = append(f.steps, m) }

// Add adds a constant to the state of all tokens, before the next step; nil is none.
func (f *Frozen) Add(value []float64) {
	if value != nil {
		f.constants = append(f.constants, source{at: len(f.steps), reads: len(f.reads), value: value})
	}
}

// ReadOut sets how the stream's output, which becomes the features, is read from the state.
func (f *Frozen) ReadOut(down linear.Map, after After) {
	f.size, _ = down.Sizes()
	f.output = readPoint{Unembedding, len(f.steps), down, after}
}

// Tokens returns the number of tokens of the run.
func (f *Frozen) Tokens() int { return f.tokens }

// Size returns the number of entries of a token in the stream's output.
func (f *Frozen) Size() int { return f.size }

// Sources lists the names of the sources, in order.
func (f *Frozen) Sources() []string {
	var names []string
	for _, s := range f.sources {
		names = append(names, s.name)
	}
	return names
}

// Readers lists the sites that read the stream, in order.
func (f *Frozen) Readers() []string {
	var names []string
	for _, t := range f.reads {
		names = append(names, t.name)
	}
	return names
}

// Carry returns C_s y: it takes what a source writes for one token, y [width], to the output of
// the stream [Size]. It returns an error if there is no such source or token, or if y does not have
// the width that the source writes.
func (f *Frozen) Carry(source string, token int, y []float64) ([]float64, error) {
	s, err := f.sourceOf(source, token, len(y))
	if err != nil {
		return nil, err
	}
	return slices.Clone(f.walk(s.at, len(f.steps), token, s.up.Apply(token, y))), nil
}

// CarryTo takes what enters at a source for one token, y [width], to what the site named reader
// reads: for a matrix stream a matrix [Dk, Dv], for all others u [D], before the site's norm. It
// returns nil if the source comes after the reader, and an error for a reader that does not exist
// or where Carry would return one.
func (f *Frozen) CarryTo(source, reader string, token int, y []float64) ([]float64, error) {
	s, err := f.sourceOf(source, token, len(y))
	if err != nil {
		return nil, err
	}
	i, err := f.readerIndex(reader)
	if err != nil || s.reads > i {
		return nil, err
	}
	t := f.reads[i]
	return slices.Clone(t.down.Apply(token, f.walk(s.at, t.at, token, s.up.Apply(token, y)))), nil
}

// PullBack is the transpose of Carry for all sources at once: it takes a direction of the output
// [Size], for one token, to the direction C_s^T direction [width] of what enters at each source.
func (f *Frozen) PullBack(token int, direction []float64) (map[string][]float64, error) {
	if err := checkEntries("the output", token, f.tokens, len(direction), f.size); err != nil {
		return nil, err
	}
	at := map[string][]float64{}
	for k := len(f.steps); k >= 0; k-- {
		if k < len(f.steps) {
			direction = f.steps[k].Transpose(token, direction)
		}
		for _, s := range f.sources {
			if s.at == k {
				at[s.name] = slices.Clone(s.up.Transpose(token, direction))
			}
		}
	}
	return at, nil
}

// Constant returns the part of a token's output [Size] that comes from no source: the biases of the
// frozen norms on the way.
func (f *Frozen) Constant(token int) ([]float64, error) {
	return f.constantAt(token, readPoint{at: len(f.steps), down: linear.Identity(f.size)}, len(f.reads))
}

// ConstantTo returns the constant part of what the site named reader reads for a token: the part
// that comes from no source. The sum of this part and of what CarryTo returns for each source is
// everything that the site reads.
func (f *Frozen) ConstantTo(reader string, token int) ([]float64, error) {
	i, err := f.readerIndex(reader)
	if err != nil {
		return nil, err
	}
	return f.constantAt(token, f.reads[i], i)
}

// constantAt returns the constant part of what is read at t, after the given number of reads.
func (f *Frozen) constantAt(token int, t readPoint, reads int) ([]float64, error) {
	if err := checkToken(token, f.tokens); err != nil {
		return nil, err
	}
	_, width := t.down.Sizes()
	sum := make([]float64, width)
	for _, c := range f.constants {
		if c.reads <= reads {
			floats.Add(sum, t.down.Apply(token, f.walk(c.at, t.at, token, c.value)))
		}
	}
	return sum, nil
}

// walk takes a state through steps[from:to].
func (f *Frozen) walk(from, to, token int, x []float64) []float64 {
	for _, step := range f.steps[from:to] {
		x = step.Apply(token, x)
	}
	return x
}

// source returns the index of a source.
func (f *Frozen) source(name string) (int, error) {
	return index(f.Sources(), name, `stream: nothing is written at %q; want one of %s`)
}

// index returns the index of a name in a list. format makes the error of the name and the list.
func index(names []string, name, format string) (int, error) {
	i := slices.Index(names, name)
	if i < 0 {
		return 0, errors.Errorf(format, name, strings.Join(names, ", "))
	}
	return i, nil
}

// sourceOf finds a source and checks a token and the number of entries to write there.
func (f *Frozen) sourceOf(name string, token, entries int) (source, error) {
	i, err := f.source(name)
	if err != nil {
		return source{}, err
	}
	width, _ := f.sources[i].up.Sizes()
	return f.sources[i], checkEntries(name, token, f.tokens, entries, width)
}

// readerIndex finds a site that reads.
func (f *Frozen) readerIndex(name string) (int, error) {
	return index(f.Readers(), name, `stream: no site %q reads this stream; want one of %s`)
}

func checkToken(token, tokens int) error {
	if token < 0 || token >= tokens {
		return errors.Errorf("stream: token: want 0 to %d, got %d", tokens-1, token)
	}
	return nil
}

// checkEntries returns an error for a token that does not exist or a wrong number of entries.
func checkEntries(where string, token, tokens, got, want int) error {
	if err := checkToken(token, tokens); err != nil {
		return err
	}
	if got != want {
		return errors.Errorf("stream: %s: want %d entries of a token, got %d", where, want, got)
	}
	return nil
}
