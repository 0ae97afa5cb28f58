package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/stream"
	"github.com/residua-go/residua/stream/linear"
)

// TensorProduct is a head as one linear map of the whole sequence, with its attention pattern
// held (Elhage et al. 2021, "Attention Heads as Information Movement"): the pattern A
// [queries, keys] moves information between tokens, W_V W_O between entries of the stream, and
// as A works on one side and W_OV on the other, the head is their tensor product,
//
//	h(x) = (A ⊗ W_OV) x = A x W_V W_O,   x [T, D] the normalised stream
//
// A bias b_V of the values adds (A 1) b_V W_O: the same row b_V W_O for every token, as each
// row of A sums to 1. W_O's own bias belongs to no head. In a matrix stream W_OV is itself an
// outer product of keys, that works on columns of X [Dk, Dv] and leaves Dv alone:
//
//	h(X)_t = sum_s A[t, s] w_O r_V^T X_s
type TensorProduct struct {
	Layer   int         `json:"layer"`
	Head    int         `json:"head"`
	IDs     []int32     `json:"ids"`
	Pattern [][]float64 `json:"pattern"` // A, [query][key]
	// Output is (A ⊗ W_OV) applied to the normalised stream, [token][D or Dk*Dv], and Written
	// what the head wrote in the run: o_h W_O, or w_O ⊗ o_h.
	Output    [][]float64 `json:"-"`
	Written   [][]float64 `json:"-"`
	Moved     [][]float64 `json:"moved"`     // |A[t, s] x_s W_OV|, with the bias: [query][key]
	Deviation float64     `json:"deviation"` // largest |Output - Written|
	Largest   float64     `json:"largest"`   // largest |Written|
}

// tensorProductNames lists the activations of a layer that tensorProductOf needs from a run.
func tensorProductNames(layer int) []string {
	name := siteName(layer, stream.Attention)
	return []string{name + ".norm.out", PatternName(layer), name + ".heads"}
}

// RunTensorProduct runs a model on one row of token ids and returns the tensor-product form of one
// head.
func RunTensorProduct(store *graph.Store, spec models.Spec, ids []int32, layer, head int) (*TensorProduct, error) {
	if err := cmp.Or(CheckWeighted(spec), checkHead(spec, layer, head)); err != nil {
		return nil, err
	}
	run, err := cache.Once(store, spec, ids, tensorProductNames(layer)...)
	if err != nil {
		return nil, err
	}
	return tensorProductOf(run, layer, head)
}

// tensorProductOf returns the form of a head in a run of one row that kept
// tensorProductNames(layer).
func tensorProductOf(run *cache.Cache, layer, head int) (*TensorProduct, error) {
	h, err := newHeadMap(run, layer, head)
	if err != nil {
		return nil, err
	}
	patterns, err := Patterns(run, layer)
	if err != nil {
		return nil, err
	}
	p := &TensorProduct{Layer: layer, Head: head, IDs: run.IDs, Pattern: patterns.Patterns[head]}
	values, norms := h.values()
	mixed := numerics.Mul(mat.NewDense(run.Seq, run.Seq, slices.Concat(p.Pattern...)), values) // [Seq, Dh]
	for t, row := range p.Pattern {
		p.Moved = append(p.Moved, floats.MulTo(make([]float64, len(row)), row, norms))
		out, wrote := h.write(mixed.RawRowView(t)), h.write(share(share(h.heads, run.Seq, t), run.Model().Spec().HeadCount(), head))
		p.Output, p.Written = append(p.Output, out), append(p.Written, wrote)
		p.Deviation = max(p.Deviation, floats.Distance(out, wrote, math.Inf(1)))
		p.Largest = max(p.Largest, floats.Norm(wrote, math.Inf(1)))
	}
	return p, nil
}

// headMap holds one head's weights and what they act on in a run.
type headMap struct {
	run           *cache.Cache
	normed, heads []float64  // [T, D or Dk*Dv], [T, H, Dh]
	in, out       linear.Map // to queries, keys and values of all heads; from the outputs of all heads
	bias          []float64  // b_V [Dh], or nil
	head, dh      int
	value         int // index of the head's values among the heads of queries, keys and values
}

func newHeadMap(run *cache.Cache, layer, head int) (*headMap, error) {
	m := run.Model()
	f, err := Fold(m.Store(), m.Spec())
	if err != nil {
		return nil, err
	}
	if err := checkHead(f.c, layer, head); err != nil {
		return nil, err
	}
	if layer > 0 && f.c.Attention.ValueResidual != "" {
		return nil, check.Value("layer", "0 in a model with a value residual, whose later heads mix in the first values", fmt.Sprint(layer))
	}
	name := siteName(layer, stream.Attention)
	if m.Store().Param(f.parameter(name, "value_embedding")) != nil {
		return nil, check.Value("layer", "one without value embeddings, which a head writes, too, and which are no part of the stream", fmt.Sprint(layer))
	}
	h := &headMap{run: run, head: head, dh: f.c.HeadDim(), value: headPlace(f.c, 2, head)}
	if h.normed, err = run.Activation(name + ".norm.out"); err != nil {
		return nil, err
	}
	if h.heads, err = run.Activation(name + ".heads"); err != nil {
		return nil, err
	}
	h.weigh(f, name)
	if _, keyed := linear.KeysOf(h.in); keyed && len(m.Stream().(stream.Additive).FreezeHooks()) > 0 {
		return nil, check.Value("model", "keys that are the same for all tokens, without which there is no W_OV", "keys that depend on the token")
	}
	return h, nil
}

// weigh reads the weights as they are: norm.out has the norm's gain and bias.
func (h *headMap) weigh(f *Folded, name string) {
	_, own := f.after(f.sourceOf(name, "v"))
	writer := f.end(name, false)
	if keys, ok := own.(linear.Mix); ok {
		h.in = linear.Transposed{Of: keys}
		h.out = linear.Keys(writer.weights().RawMatrix().Data, writer.size, writer.values)
		return
	}
	h.in, h.out = own, linear.Matrix{W: writer.weights().RawMatrix().Data, In: writer.count, Out: writer.size}
	if bias := f.values(f.parameter(name, "qkv_bias")); bias != nil {
		h.bias = share(bias, f.packedHeads(), h.value)
	}
	if d, _ := own.Sizes(); f.end(name, true).ways { // values alone, of the last of three norms
		h.in, h.value = linear.Chain{linear.Row(3, 2, d), own}, h.value-f.c.HeadCount()-f.c.KVHeads()
	}
}

// values returns x_s W_V + b_V, or r_V^T X_s, of all tokens, [Seq, Dh], and for each token the
// length of what the stream gets of it when it is written.
func (h *headMap) values() (values *mat.Dense, norms []float64) {
	seq := h.run.Seq
	values = mat.NewDense(seq, h.dh, nil)
	for s := range seq {
		all := h.in.Apply(0, share(h.normed, seq, s)) // queries, keys and values of all heads
		v := values.RawRowView(s)
		copy(v, all[h.value*h.dh:])
		if h.bias != nil {
			floats.Add(v, h.bias)
		}
		norms = append(norms, floats.Norm(h.write(v), 2))
	}
	return values, norms
}

// write returns y W_O [D], or w_O ⊗ y [Dk*Dv], for y [Dh].
func (h *headMap) write(y []float64) []float64 {
	width, _ := h.out.Sizes()
	all := make([]float64, width)
	copy(all[h.head*h.dh:], y)
	return h.out.Apply(0, all)
}

// Table compares both sides token by token.
func (p *TensorProduct) Table() figure.Table {
	t := figure.NewTable(p.title(), "rrrrr",
		"token", "id", "length of (A ⊗ W_OV) x", "length of what the head wrote", "largest difference")
	for i, out := range p.Output {
		t.Row(i, p.IDs[i], floats.Norm(out, 2), floats.Norm(p.Written[i], 2),
			floats.Distance(out, p.Written[i], math.Inf(1)))
	}
	return t
}

// Name is the head's, "blocks.3.attention.1".
func (p *TensorProduct) Name() string { return headName(p.Layer, p.Head) }

func (p *TensorProduct) title() string {
	return "A ⊗ W_OV of " + p.Name()
}

// Figures returns the pattern, and what it moves: |A[t, s] x_s W_OV|.
func (p *TensorProduct) Figures() []figure.Figure {
	return []figure.Figure{figure.Attention{Title: p.title() + ": what each token gives each", Heads: []string{"A", "|A x W_OV|"},
		Patterns: []figure.Matrix{p.Pattern, p.Moved}, Tokens: texts(p.IDs)}}
}
