package delta

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// Positions selects the positions that a Read sums over, among those that its filter has taps for.
type Positions int

// The selections of positions; the zero value selects all.
const (
	AllPositions     Positions = iota
	OwnPosition                // only a token's own position
	EarlierPositions           // only earlier positions
)

// ReadOptions describe a Read. With Filter and Starts nil it is a weighted sum of rows.
type ReadOptions struct {
	Seq    int            // tokens per row; T = batch*Seq
	Filter *gorgonia.Node // [taps, n, D], the last tap a token's own position; nil: none
	Starts *gorgonia.Node // Int32, T entries: index in the row of the first position that a token sees; nil: 0
	Part   Positions      // which terms to sum: the Reads of OwnPosition and EarlierPositions add up to the whole
	First  int            // of a convolution: a token's first entry that is convolved
}

// read reduces the rows of a stream to one. Inputs: x, r, and the filter and the starts if there
// are any. A convolution has no r, but a filter; its x has one row of any axes.
type read struct {
	seq            int
	part           Positions
	filter, starts int // the numbers of the inputs, -1 for one that is missing
	cache          *graph.CacheLayer
	convolution    bool
	first          int // of a convolution
}

// row returns the number of the input r, -1 in a convolution.
func (k read) row() int {
	if k.convolution {
		return -1
	}
	return 1
}

// Convolve adds to what is written at each position a causal convolution over positions, with a
// filter for each entry, as Thinking Machines' Inkling does (transformers,
// InklingShortConvolution):
//
//	y_t = x_t + sum over lags j of f[taps-1-j] ⊙ x_(t-j)
//
// where positions before a row's first token count as zero, as do those before the token's document
// with Starts. x, y [T, ...]; f, o.Filter, [taps, entries], the last tap a token's own position. A
// token's entries before o.First, and those after the filter's, are copied. With a Cache in the
// builder's options, the tokens follow those of earlier runs.
func Convolve(b *graph.Builder, x *gorgonia.Node, o ReadOptions) *gorgonia.Node {
	return apply(b, read{seq: o.Seq, filter: 1, starts: -1, convolution: true, first: o.First}, o, x, o.Filter)
}

// Read reduces the n rows of a stream to one by a weighted sum, after a causal convolution over
// positions with a filter for each entry (Zhang et al. 2026, arXiv 2601.00417):
//
//	u_t = sum over c of r[c] Y_t[c];   Y_t[c] = sum over lags j of f[taps-1-j, c] ⊙ X_(t-j)[c]
//
// where positions before a row's first token count as zero, as do those before the token's document
// with Starts. Y_t is X_t without a filter. x [T, n, D], r [n], u [T, D]; Y is never made. With a
// Cache in the builder's options, the tokens follow those of earlier runs.
func Read(b *graph.Builder, x, r *gorgonia.Node, o ReadOptions) *gorgonia.Node {
	k := read{seq: o.Seq, part: o.Part, filter: -1, starts: -1}
	inputs := gorgonia.Nodes{x, r}
	if o.Filter != nil {
		k.filter, inputs = len(inputs), append(inputs, o.Filter)
	}
	return apply(b, k, o, inputs...)
}

// apply makes the node of a read, with the starts if there are any and its part of a cache.
func apply(b *graph.Builder, k read, o ReadOptions, inputs ...*gorgonia.Node) *gorgonia.Node {
	x := inputs[0]
	if o.Starts != nil {
		k.starts, inputs = len(inputs), append(inputs, o.Starts)
	}
	if b.Err() == nil && b.Cache() != nil && k.filter > 0 && x != nil {
		back, width := max(1, o.Filter.Shape()[0]-1), graph.SignatureOf(x).Width()
		var err error
		if k.cache, err = b.CarriedRows(x.Dtype(), back, width); err != nil {
			b.Fail(errors.Wrap(err, "graph: "+k.name()))
			return nil
		}
	}
	return b.Apply(k, inputs...)
}

func (k read) name() string {
	if k.convolution {
		return "Convolve"
	}
	return "DeltaRead"
}

func (k read) String() string {
	if k.convolution {
		return fmt.Sprintf("Convolve(seq=%d, masked=%t, first=%d)", k.seq, k.starts > 0, k.first)
	}
	return fmt.Sprintf("DeltaRead(seq=%d, filter=%t, masked=%t, part=%d)", k.seq, k.filter > 0, k.starts > 0, k.part)
}

func (k read) FLOPs(c graph.Cost) int {
	p := k.paramsOf(c)
	return 2 * (p.LastLag - p.FirstLag + 1) * p.Tokens * p.N * p.D
}

// ReadsInts returns true for the starts.
func (k read) ReadsInts(i int) bool { return i == k.starts }

func (k read) Infer(in []graph.Signature) (graph.Signature, error) {
	x, r := in[0], in[1]
	if k.convolution {
		return k.inferConvolution(in)
	}
	switch {
	case x.Shape.Dims() != 3:
		return graph.Signature{}, errors.Errorf("x: want shape [tokens, n, D], got %v", x.Shape)
	case k.seq < 1 || x.Leading()%k.seq != 0:
		return graph.Signature{}, errors.Errorf("x: want a multiple of seq %d tokens, got %v", k.seq, x.Shape)
	case r.Shape.Dims() != 1 || r.Size() != x.Shape[1]:
		return graph.Signature{}, errors.Errorf("r: want shape (%d), an entry a row of x %v, got %v", x.Shape[1], x.Shape, r.Shape)
	}
	if k.filter > 0 {
		if f := in[k.filter].Shape; f.Dims() != 3 || !f[1:].Eq(x.Shape[1:]) {
			return graph.Signature{}, errors.Errorf("filter: want shape [taps, %d, %d] for x %v, got %v", x.Shape[1], x.Shape[2], x.Shape, f)
		}
	}
	return graph.Signature{DType: x.DType, Shape: graph.WithTokens(x.Leading(), x.Shape[2])}, k.checkStarts(in)
}

// inferConvolution is Infer for a convolution.
func (k read) inferConvolution(in []graph.Signature) (graph.Signature, error) {
	x, f := in[0], in[1].Shape
	switch {
	case x.Shape.Dims() < 2 || k.seq < 1 || x.Leading()%k.seq != 0:
		return graph.Signature{}, errors.Errorf("x: want shape [tokens, ...] with a multiple of seq %d tokens, got %v", k.seq, x.Shape)
	case f.Dims() != 2 || f[0] < 1 || f[1] < 1 || k.first < 0 || k.first+f[1] > x.Width():
		return graph.Signature{}, errors.Errorf("filter: want shape [taps, 1 to %d] for entries %d and on of x %v, got %v",
			x.Width()-k.first, k.first, x.Shape, f)
	}
	return x, k.checkStarts(in)
}

// checkStarts checks the number of starts.
func (k read) checkStarts(in []graph.Signature) error {
	if k.starts < 0 || in[k.starts].Size() == in[0].Leading() {
		return nil
	}
	return errors.Errorf("starts: want %d entries, one a token, got %d", in[0].Leading(), in[k.starts].Size())
}

// params returns the kernel's sizes for x and a filter with the given number of taps and, in a
// convolution, of entries.
func (k read) params(x graph.Signature, taps, filters int) kernel.DeltaReadParams {
	p := kernel.DeltaReadParams{Tokens: x.Leading(), Seq: k.seq, N: 1, D: filters, Taps: taps, LastLag: taps - 1, Residual: k.convolution, First: k.first}
	switch {
	case !k.convolution:
		p.N, p.D = x.Shape[1], x.Shape[2]
	case filters < x.Width():
		p.Width = x.Width()
	}
	switch k.part {
	case OwnPosition:
		p.LastLag = 0
	case EarlierPositions:
		p.FirstLag = 1
	}
	return p
}

// signatures returns the signatures of an op's inputs.
type signatures interface{ Signature(i int) graph.Signature }

// paramsOf returns params for an op's inputs.
func (k read) paramsOf(c signatures) kernel.DeltaReadParams {
	taps, entries := 1, 0
	if k.filter > 0 {
		f := c.Signature(k.filter)
		taps, entries = f.Leading(), f.Width()
	}
	return k.params(c.Signature(0), taps, entries)
}

func (k read) VJP(d *graph.Derivative) {
	if k.cache != nil {
		d.Builder().Fail(errors.New("graph: " + k.name() + ": want no cache where a gradient is taken: build the training graph without Options.Cache"))
		return
	}
	grad := readGrad{of: k, gradient: d.Inputs()}
	var inputs gorgonia.Nodes
	for i := range d.Inputs() {
		inputs = append(inputs, d.Input(i))
	}
	inputs = append(inputs, d.Gradient())
	var primary *gorgonia.Node
	if k.paramsOf(d).Width > 0 {
		primary = d.Make(0, grad, inputs...)
	} else {
		primary = d.MakeAccumulating(grad, inputs...)
	}
	if !k.convolution {
		d.SetSecondary(1, primary, 0, "GradR of DeltaRead")
	}
	if k.filter > 0 {
		d.SetSecondary(k.filter, primary, 1, "GradFilter of "+k.name())
	}
}

func (k read) Run(c *graph.Call) {
	graph.Dispatch(c, k, runRead, runRead)
}

func runRead[T kernel.Float](k read, c graph.CallOf[T]) {
	run, p := graph.State[kernel.DeltaRead[T]](c), k.paramsOf(c)
	u, x, r := c.Out(), c.In(0), c.In(k.row())
	filter, starts := c.In(k.filter), c.Ints(k.starts)
	var carried *kernel.CarriedRows[T]
	var rows []kernel.CachedRow
	if k.cache != nil {
		carried, rows = graph.Carried[T](k.cache), k.cache.Running()
	}
	run.Forward(c.Pool(), u, x, filter, r, carried, rows, starts, p)
}

// readGrad computes dx; its secondaries are dr and dfilter. Inputs: those of the read, the gradient
// of its result and optionally the gradient of x from its other readers, to which dx is added.
type readGrad struct {
	graph.NoGradient
	of       read
	gradient int // number of the input that holds the gradient
}

func (k readGrad) String() string { return "GradX of " + k.of.String() }

func (k readGrad) InPlace(i int) bool {
	return i == k.gradient+1 || i == k.gradient && k.of.convolution
}

func (k readGrad) FLOPs(c graph.Cost) int {
	return (1 + max(c.Secondary(0), c.Secondary(1))) * k.of.FLOPs(c)
}

func (k readGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runReadGrad, runReadGrad)
}

func runReadGrad[T kernel.Float](k readGrad, c graph.CallOf[T]) {
	grads := kernel.DeltaReadGrads[T]{X: c.Out(), Addend: c.In(k.gradient + 1)}
	grads.R, grads.AddToR = c.SecondaryOut(0)
	grads.Filter, grads.AddToFilter = c.SecondaryOut(1)
	graph.State[kernel.DeltaRead[T]](c).Backward(c.Pool(), grads, c.In(k.gradient), c.In(0),
		c.In(k.of.filter), c.In(k.of.row()), c.Ints(k.of.starts), k.of.paramsOf(c))
}
