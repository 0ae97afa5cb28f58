package analysis

import (
	"cmp"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/attention"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/stream"
)

// Decomposition is the stream of one run as the sum of what was written to it (Elhage et
// al. 2021, "A Mathematical Framework for Transformer Circuits", "residual stream as a sum"),
// exact for every stream of package stream:
//
//	end_t = Constant_t + sum over writers and their parts of Term
//
// where a term has been carried to the end with what the run made of its input frozen: mixing
// coefficients, gates, the scales of norms on the way (stream.Frozen). Tokens are counted over
// all rows of the run.
//
// It reads weights from the run's Store, which must not have changed since the run. It is not safe
// for concurrent use.
type Decomposition struct {
	run     *cache.Cache
	frozen  *stream.Frozen
	readout *stream.Readout
	writers []stream.Writer
	end     []float64            // [T, Size]
	values  map[string][]float64 // activations [T, ...] by name; parameters
	starts  []int32              // for each token, the first one in its row that it sees
	lens    *TunedLens           // the lens that Lens and LensMap use; nil: the logit lens
}

// DecompositionNames lists the activations that Decompose needs of a run.
func DecompositionNames(store *graph.Store, spec models.Spec) ([]string, error) {
	m, err := cache.Sketch(store, spec)
	if err != nil {
		return nil, err
	}
	additive, err := additiveStream(m)
	if err != nil {
		return nil, err
	}
	names := append(slices.Clone(additive.FreezeHooks()), additive.Output())
	for _, w := range m.Writers() {
		names = append(names, w.Activation)
	}
	return names, nil
}

func additiveStream(m *models.Model) (stream.Additive, error) {
	additive, ok := m.Stream().(stream.Additive)
	if !ok {
		return nil, check.Value("stream", "one that lists its writers (stream.Additive)", m.Spec().Stream.Name())
	}
	return additive, nil
}

// Run runs a model once on one row of token ids and keeps what Decompose needs and further
// activations, names or globs.
func Run(store *graph.Store, spec models.Spec, ids []int32, further ...string) (*cache.Cache, error) {
	names, err := DecompositionNames(store, spec)
	if err != nil {
		return nil, err
	}
	return cache.Once(store, spec, ids, append(names, further...)...)
}

// Decompose splits the stream of a run into its terms. The run must have kept DecompositionNames,
// and must not have replaced activations other than those that writers write (Writer.Activation).
func Decompose(run *cache.Cache) (*Decomposition, error) {
	additive, err := additiveStream(run.Model())
	if err != nil {
		return nil, err
	}
	d := &Decomposition{run: run, values: map[string][]float64{}, starts: make([]int32, len(run.IDs))}
	if spec := run.Model().Spec(); spec.MaskDocuments {
		d.starts = attention.StartsOf(run.IDs, run.Seq, spec.BOS, spec.Separator)
	}
	if d.frozen, err = additive.Freeze(run); err != nil {
		return nil, err
	}
	if d.end, err = run.Activation(additive.Output()); err != nil {
		return nil, err
	}
	if d.readout, err = d.frozen.Readout(d.end); err != nil {
		return nil, err
	}
	d.writers = inOrder(run.Model().Writers(), d.frozen.Sources())
	for _, w := range d.writers {
		if d.values[w.Activation], err = run.Activation(w.Activation); err != nil {
			return nil, err
		}
		if _, err := d.frozen.Carry(w.Source, 0, d.wholly(w, 0, 1)); err != nil { // if it works for one token, it works for all
			return nil, err
		}
	}
	return d, nil
}

// parameter returns a parameter's values, read from the Store once.
func (d *Decomposition) parameter(name string) []float64 {
	if _, read := d.values[name]; !read {
		d.values[name] = graph.Float64s(d.run.Model().Store().Param(name).Value)
	}
	return d.values[name]
}

// carry takes what a writer writes for a token, y [width], to the token's end [Size]. The token
// must exist.
func (d *Decomposition) carry(w stream.Writer, token int, y []float64) []float64 {
	end, _ := d.frozen.Carry(w.Source, token, y)
	return end
}

// inOrder sorts writers by where they enter the stream.
func inOrder(writers []stream.Writer, sources []string) []stream.Writer {
	slices.SortStableFunc(writers, func(a, b stream.Writer) int {
		return slices.Index(sources, a.Source) - slices.Index(sources, b.Source)
	})
	return writers
}

// Writers lists what wrote to the stream, in order.
func (d *Decomposition) Writers() []stream.Writer { return slices.Clone(d.writers) }

// Frozen returns the linear form of the run's stream.
func (d *Decomposition) Frozen() *stream.Frozen { return d.frozen }

// Written returns what a writer writes at its source for a token, bias included [width].
func (d *Decomposition) Written(w stream.Writer, token int) ([]float64, error) {
	if err := d.checkToken(token); err != nil {
		return nil, err
	}
	return d.wholly(w, token, 1), nil
}

// Size returns the number of entries of a token's stream after all writes.
func (d *Decomposition) Size() int { return d.frozen.Size() }

// Output returns a token's stream after all writes [Size], as the model's run had it.
func (d *Decomposition) Output(token int) ([]float64, error) {
	if err := d.checkToken(token); err != nil {
		return nil, err
	}
	return slices.Clone(d.end[token*d.Size():][:d.Size()]), nil
}

// Constant returns the part of a token's end [Size] that no writer wrote: the biases of norms on
// the way.
func (d *Decomposition) Constant(token int) ([]float64, error) {
	if err := d.checkToken(token); err != nil {
		return nil, err
	}
	return d.frozen.Constant(token)
}

// Term returns what one part of a writer contributes to a token's end [Size].
func (d *Decomposition) Term(writer string, part, token int) ([]float64, error) {
	w, err := d.writerAt(writer, token)
	if err != nil {
		return nil, err
	}
	if err := check.Index(w.Name+": "+cmp.Or(w.Part, "part"), part, w.Parts); err != nil {
		return nil, err
	}
	return d.frozen.Carry(w.Source, token, d.written(w, part, token))
}

// BiasTerm returns what a writer's bias contributes to a token's end [Size]; zeros without a bias.
func (d *Decomposition) BiasTerm(writer string, token int) ([]float64, error) {
	w, err := d.writerAt(writer, token)
	if err != nil {
		return nil, err
	}
	if w.Bias == "" {
		return make([]float64, d.Size()), nil
	}
	return d.frozen.Carry(w.Source, token, d.bias(w, token))
}

// WriterTerm returns the sum of a writer's terms, the term of its bias included, [Size].
func (d *Decomposition) WriterTerm(writer string, token int) ([]float64, error) {
	w, err := d.writerAt(writer, token)
	if err != nil {
		return nil, err
	}
	return d.frozen.Carry(w.Source, token, d.wholly(w, token, 1))
}

// wholly returns what a writer writes at its source for the n tokens from first on [n, width], bias
// included.
func (d *Decomposition) wholly(w stream.Writer, first, n int) []float64 {
	if w.Over == nil {
		return d.all(w, first, n)
	}
	var y []float64
	for t := first; t < first+n; t++ {
		y = append(y, d.over(w, t, func(t int) []float64 { return d.all(w, t, 1) })...)
	}
	return y
}

// over returns what arrives at a writer's source for a token, after the writer's linear map over
// tokens (Writer.Over); at returns what the writer writes for one token.
func (d *Decomposition) over(w stream.Writer, token int, at func(token int) []float64) []float64 {
	if w.Over == nil {
		return at(token)
	}
	return w.Over.Apply(func(lag int) []float64 { return at(token - lag) }, token%d.run.Seq-int(d.starts[token]))
}

// bias returns what a writer's bias adds at its source for a token [width].
func (d *Decomposition) bias(w stream.Writer, token int) []float64 {
	return d.over(w, token, func(int) []float64 { return d.parameter(w.Bias) })
}

// all is like wholly, but leaves out the writer's linear map over tokens (Writer.Over).
func (d *Decomposition) all(w stream.Writer, first, n int) []float64 {
	all := d.values[w.Activation]
	size := len(all) / d.frozen.Tokens()
	a := all[first*size:][:n*size] // [n, size]
	var y []float64
	switch {
	case w.Weight != "":
		y = rowsTimes(a, n, d.parameter(w.Weight))
	case w.Whole:
		width := size / w.Parts
		y = make([]float64, n*width)
		for p := range n * w.Parts {
			floats.Add(y[p/w.Parts*width:][:width], a[p*width:][:width])
		}
	default:
		y = slices.Clone(a)
	}
	if w.Bias != "" {
		for t := range n {
			floats.Add(share(y, n, t), d.parameter(w.Bias))
		}
	}
	return y
}

// rowsTimes returns a [n, k] times w [k, width].
func rowsTimes(a []float64, n int, w []float64) []float64 {
	k := len(a) / n
	width := len(w) / k
	return numerics.Mul(mat.NewDense(n, k, a), mat.NewDense(k, width, w)).RawMatrix().Data
}

// written returns what one part writes at its source [width].
func (d *Decomposition) written(w stream.Writer, part, token int) []float64 {
	return d.over(w, token, func(token int) []float64 { return d.part(w, part, token) })
}

// part is like written, but leaves out the writer's linear map over tokens (Writer.Over).
func (d *Decomposition) part(w stream.Writer, part, token int) []float64 {
	a := share(d.values[w.Activation], d.frozen.Tokens(), token)
	switch {
	case w.Weight != "":
		return rowsTimes(share(a, w.Parts, part), 1, share(d.parameter(w.Weight), w.Parts, part))
	case w.Whole:
		return share(a, w.Parts, part)
	}
	alone := make([]float64, len(a))
	copy(share(alone, w.Parts, part), share(a, w.Parts, part))
	return alone
}

// share returns part i of n equal parts.
func share(x []float64, n, i int) []float64 {
	size := len(x) / n
	return x[i*size:][:size]
}

// writerAt returns a writer by its name, and checks the token.
func (d *Decomposition) writerAt(name string, token int) (stream.Writer, error) {
	var names []string
	for _, w := range d.writers {
		if w.Name == name {
			return w, d.checkToken(token)
		}
		names = append(names, w.Name)
	}
	return stream.Writer{}, check.Unknown("writer", name, names)
}

func (d *Decomposition) checkToken(token int) error {
	return check.Index("token", token, d.frozen.Tokens())
}
