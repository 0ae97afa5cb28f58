package bench

import (
	"fmt"
	"math"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// byteVocab is the size of a vocabulary of 256 bytes and BOS.
const byteVocab = 257

// stockPreset returns a model that is small enough for stock Gorgonia.
func stockPreset() models.Preset {
	c := models.Transformer(2, 64, 256, 2)
	c.Vocab = byteVocab
	return models.Preset{Name: "small-transformer", Config: c}
}

// ChooseStock returns the workloads with these names as stock Gorgonia trains them: without z-loss,
// which would take a second pass over the stock graph's logits. They must be transformers; without
// names it is a small one.
func ChooseStock(zoo models.Zoo, names []string, size Size) ([]Workload, error) {
	if len(names) == 0 {
		p := stockPreset()
		batch, seq := size.or(4, 32)
		w, err := newWorkload(p.Name, p, batch, seq)
		w.ZLoss = 0
		return []Workload{w}, err
	}
	chosen, err := Choose(zoo, names, size)
	if err != nil {
		return nil, err
	}
	for i, w := range chosen {
		if !isTransformer(w.Spec) {
			return nil, errors.Errorf("want transformers to compare with stock Gorgonia, got %s", w.Name)
		}
		chosen[i].ZLoss = 0
	}
	return chosen, nil
}

// isTransformer tells whether a model is a transformer as stock Gorgonia's is built, in any size.
func isTransformer(s models.Spec) bool {
	c := models.Transformer(s.Layers, s.Width(), s.FeedForwardShape().Hidden, s.HeadCount())
	c.Vocab, c.Seq, c.Attention.InverseLayerScaling, c.Init = s.Vocab, s.Seq, true, s.Init
	plain, err := c.Resolve()
	return err == nil && plain.SameModel(s) == nil
}

// stockGraph builds a vector-stream transformer from stock Gorgonia nodes only, as a user of
// Gorgonia would: one matrix for each projection, batched products over batch*heads, SoftMax over a
// masked matrix of logits. Shapes: T = batch*seq tokens, D the width, N the tokens in a row, H
// heads of size Dh.
type stockGraph struct {
	g      *gorgonia.ExprGraph
	w      Workload
	store  *graph.Store // initial values
	params gorgonia.Nodes
	err    error
}

// node keeps the first error of Gorgonia's functions.
func (s *stockGraph) node(n *gorgonia.Node, err error) *gorgonia.Node {
	if s.err == nil && err != nil {
		s.err = errors.Wrap(err, "stock graph")
	}
	return n
}

// param makes a parameter from the columns [from, to) of a parameter in the store.
func (s *stockGraph) param(name, part string, from, to int) *gorgonia.Node {
	p := s.store.Param(name)
	shape, values := p.Shape, p.Value.Float32s()
	columns := shape[len(shape)-1]
	var data []float32
	for row := 0; row < len(values); row += columns {
		data = append(data, values[row+from:row+to]...)
	}
	shape = append(append([]int(nil), shape[:len(shape)-1]...), to-from)
	n := gorgonia.NewTensor(s.g, tensor.Float32, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName(name+part),
		gorgonia.WithValue(tensor.New(tensor.WithShape(shape...), tensor.WithBacking(data))))
	s.params = append(s.params, n)
	return n
}

// whole makes a parameter from a whole parameter in the store.
func (s *stockGraph) whole(name string) *gorgonia.Node {
	shape := s.store.Param(name).Shape
	return s.param(name, "", 0, shape[len(shape)-1])
}

// number makes a scalar constant.
func number(v float64) *gorgonia.Node { return gorgonia.NewConstant(float32(v)) }

// times multiplies by a number.
func (s *stockGraph) times(x *gorgonia.Node, v float64) *gorgonia.Node {
	return s.node(gorgonia.Mul(x, number(v)))
}

// norm computes LayerNorm of x [T, D] with a gain [D].
func (s *stockGraph) norm(x *gorgonia.Node, name string) *gorgonia.Node {
	rows, column := []byte{0}, []byte{1}
	centred := s.node(gorgonia.BroadcastSub(x, s.node(gorgonia.Mean(x, 1)), nil, column))  // [T, D]
	variance := s.node(gorgonia.Mean(s.node(gorgonia.Square(centred)), 1))                 // [T]
	std := s.node(gorgonia.Sqrt(s.node(gorgonia.Add(variance, number(s.w.Spec.NormEps))))) // [T]
	return s.node(gorgonia.BroadcastHadamardProd(s.node(gorgonia.BroadcastHadamardDiv(centred, std, nil, column)), s.whole(name), nil, rows))
}

// heads reshapes x [T, D] to [B*H, N, Dh].
func (s *stockGraph) heads(x *gorgonia.Node) *gorgonia.Node {
	c := s.w.Spec
	x = s.node(gorgonia.Reshape(x, tensor.Shape{s.w.Batch, c.Seq, c.HeadCount(), c.HeadDim()}))
	x = s.node(gorgonia.Transpose(x, 0, 2, 1, 3)) // [B, H, N, Dh]
	return s.node(gorgonia.Reshape(x, tensor.Shape{s.w.Batch * c.HeadCount(), c.Seq, c.HeadDim()}))
}

// attention computes causal attention of block l over u [T, D].
func (s *stockGraph) attention(u *gorgonia.Node, l int, name string, mask *gorgonia.Node) *gorgonia.Node {
	c := s.w.Spec
	d, rows := c.Width(), s.w.Batch*c.HeadCount()*c.Seq
	project := func(part string, i int) *gorgonia.Node {
		return s.heads(s.node(gorgonia.Mul(u, s.param(name+".qkv", part, i*d, (i+1)*d))))
	}
	q, k, v := project(".q", 0), project(".k", 1), project(".v", 2)
	logits := s.node(gorgonia.BatchedMatMul(q, k, false, true)) // [B*H, N, N]
	logits = s.times(logits, 1/math.Sqrt(float64(c.HeadDim()))/float64(l+1))
	logits = s.node(gorgonia.Add(s.node(gorgonia.Reshape(logits, tensor.Shape{rows, c.Seq})), mask)) // [B*H*N, N]
	weights := s.node(gorgonia.Reshape(s.node(gorgonia.SoftMax(logits, 1)), tensor.Shape{s.w.Batch * c.HeadCount(), c.Seq, c.Seq}))
	o := s.node(gorgonia.BatchedMatMul(weights, v)) // [B*H, N, Dh]
	o = s.node(gorgonia.Reshape(o, tensor.Shape{s.w.Batch, c.HeadCount(), c.Seq, c.HeadDim()}))
	o = s.node(gorgonia.Reshape(s.node(gorgonia.Transpose(o, 0, 2, 1, 3)), tensor.Shape{s.w.tokens(), d})) // [T, D]
	return s.node(gorgonia.Mul(o, s.whole(name+".o")))
}

// gelu computes GELU in its tanh form.
func (s *stockGraph) gelu(x *gorgonia.Node) *gorgonia.Node {
	inner := s.node(gorgonia.Add(x, s.times(s.node(gorgonia.Cube(x)), 0.044715)))
	tanh := s.node(gorgonia.Tanh(s.times(inner, math.Sqrt(2/math.Pi))))
	return s.node(gorgonia.HadamardProd(s.times(x, 0.5), s.node(gorgonia.Add(tanh, number(1)))))
}

// rows looks up rows of a table [_, D] by ids [T].
func (s *stockGraph) rows(table string, ids []int) *gorgonia.Node {
	indices := tensor.New(tensor.WithShape(len(ids)), tensor.WithBacking(ids))
	n := gorgonia.NewVector(s.g, tensor.Int, gorgonia.WithShape(len(ids)), gorgonia.WithName(table+".ids"), gorgonia.WithValue(indices))
	return s.node(gorgonia.ByIndices(s.whole(table), n, 0))
}

// loss builds the model: the mean cross-entropy of a batch.
func (s *stockGraph) loss(tokens, targets []int32) *gorgonia.Node {
	c := s.w.Spec
	ids, positions := make([]int, len(tokens)), make([]int, len(tokens))
	for t, id := range tokens {
		ids[t], positions[t] = int(id), t%c.Seq
	}
	x := s.node(gorgonia.Add(s.rows("embedding", ids), s.rows("positions", positions))) // [T, D]
	mask := s.mask()
	for l := range c.Layers {
		block := fmt.Sprint("blocks.", l)
		x = s.node(gorgonia.Add(x, s.attention(s.norm(x, block+".attention.norm"), l, block+".attention", mask)))
		hidden := s.gelu(s.node(gorgonia.Mul(s.norm(x, block+".feedforward.norm"), s.whole(block+".feedforward.w1")))) // [T, FF]
		x = s.node(gorgonia.Add(x, s.node(gorgonia.Mul(hidden, s.whole(block+".feedforward.w2")))))
	}
	logits := s.node(gorgonia.Mul(s.norm(x, "norm"), s.whole("unembedding"))) // [T, V]
	chosen := s.node(gorgonia.HadamardProd(s.node(gorgonia.LogSoftMax(logits, 1)), s.oneHot(targets)))
	return s.times(s.node(gorgonia.Sum(chosen)), -1/float64(len(targets)))
}

// mask returns what is added to logits [B*H*N, N]: 0 up to the token itself, after it a number of
// which exp is 0.
func (s *stockGraph) mask() *gorgonia.Node {
	seq := s.w.Spec.Seq
	rows := s.w.Batch * s.w.Spec.HeadCount() * seq
	data := make([]float32, rows*seq)
	for i := range data {
		if i%seq > i/seq%seq {
			data[i] = -1e9
		}
	}
	return s.constant("mask", data, rows, seq)
}

// oneHot returns a tensor [T, V] that is 1 at each token's target.
func (s *stockGraph) oneHot(targets []int32) *gorgonia.Node {
	vocab := s.w.Spec.Vocab
	data := make([]float32, len(targets)*vocab)
	for t, id := range targets {
		data[t*vocab+int(id)] = 1
	}
	return s.constant("targets", data, len(targets), vocab)
}

// constant makes an input with a fixed value.
func (s *stockGraph) constant(name string, data []float32, shape ...int) *gorgonia.Node {
	return gorgonia.NewTensor(s.g, tensor.Float32, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName(name),
		gorgonia.WithValue(tensor.New(tensor.WithShape(shape...), tensor.WithBacking(data))))
}
