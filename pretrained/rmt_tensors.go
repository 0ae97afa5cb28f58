package pretrained

import (
	"fmt"
	"maps"
	"slices"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/models"
)

// placed says where the entries of one of the authors' tensors lie in a parameter of ours: entry (i, j, ...) is entry
// i*strides[0] + j*strides[1] + ... of ours.
type placed struct {
	theirs, ours   string
	stacked        bool // theirs has an axis of layers first, ours is a pattern with the layer's number
	shape, strides []int
}

// rmtTensors are those of a model: layers stacked, states (ResVal, ResKey) and features (ResVal, Rank), where ours are
// [Dk, Dv] and [R, Dv].
func rmtTensors(c models.Spec) ([]placed, error) {
	s, err := rmtSizes(c)
	if err != nil {
		return nil, err
	}
	if c.Stream.Name() != matrixStream() {
		return rmtTransformerTensors(s), nil
	}
	rank, dk, dv, width := s.Rank, s.Dk, s.Dv, s.Rank*s.Dv
	state, keys, turned := []int{dv, dk}, []int{rank, dk}, []int{dk, rank}
	return []placed{
		{"embedding.param", "embedding", false, []int{s.Vocab, dv, rank}, []int{width, 1, dv}},
		{"storage_linear.param", "write_embedding", false, keys, []int{dk, 1}},
		{"norm.param", "norm", false, state, []int{1, dv}},
		{"retrieval_linear.param", "read_unembedding", false, turned, []int{1, dk}},
		{"unembedding.param", "unembedding", false, []int{dv, rank, s.Vocab}, []int{s.Vocab, dv * s.Vocab, 1}},
		{"rmt_stack.stacked.attention.module.norm.param", "blocks.%d.attention.norm", true, state, []int{1, dv}},
		{"rmt_stack.stacked.attention.module.qkv_linear.param", "blocks.%d.attention.read", true, []int{dk, 3, rank}, []int{1, rank * dk, dk}},
		{"rmt_stack.stacked.attention.module.out_linear.param", "blocks.%d.attention.write", true, keys, []int{dk, 1}},
		{"rmt_stack.stacked.mlp.module.norm.param", "blocks.%d.feedforward.norm", true, state, []int{1, dv}},
		{"rmt_stack.stacked.mlp.module.retrieval_linear.param", "blocks.%d.feedforward.read", true, turned, []int{1, dk}},
		{"rmt_stack.stacked.mlp.module.W1.param", "blocks.%d.feedforward.w1", true, []int{dv, rank, s.Hidden}, []int{s.Hidden, dv * s.Hidden, 1}},
		{"rmt_stack.stacked.mlp.module.W2.param", "blocks.%d.feedforward.w2", true, []int{s.Hidden, dv, rank}, []int{width, 1, dv}},
		{"rmt_stack.stacked.mlp.module.storage_linear.param", "blocks.%d.feedforward.write", true, keys, []int{dk, 1}},
	}, nil
}

// rmtTransformerTensors are those of the transformer in the same code.
func rmtTransformerTensors(s rmtConfig) []placed {
	d, width, stack := s.DModel, s.Heads*s.HeadDim, "transformer_stack.stacked."
	return []placed{
		{"embedding.param", "embedding", false, []int{s.Vocab, d}, []int{d, 1}},
		{"norm.param", "norm", false, []int{d}, []int{1}},
		{"unembedding.param", "unembedding", false, []int{d, s.Vocab}, []int{s.Vocab, 1}},
		{stack + "attention.module.norm.param", "blocks.%d.attention.norm", true, []int{d}, []int{1}},
		{stack + "attention.module.qkv_linear.param", "blocks.%d.attention.qkv", true, []int{d, 3, s.Heads, s.HeadDim}, []int{3 * width, width, s.HeadDim, 1}},
		{stack + "attention.module.out_linear.param", "blocks.%d.attention.o", true, []int{s.Heads, s.HeadDim, d}, []int{s.HeadDim * d, d, 1}},
		{stack + "mlp.module.norm.param", "blocks.%d.feedforward.norm", true, []int{d}, []int{1}},
		{stack + "mlp.module.W1.param", "blocks.%d.feedforward.w1", true, []int{d, s.Hidden}, []int{s.Hidden, 1}},
		{stack + "mlp.module.W2.param", "blocks.%d.feedforward.w2", true, []int{s.Hidden, d}, []int{d, 1}},
	}
}

// ourName is that of a layer's parameter.
func (p placed) ourName(layer int) string {
	if !p.stacked {
		return p.ours
	}
	return fmt.Sprintf(p.ours, layer)
}

// layers and their whole shape, for a model of so many.
func (p placed) whole(layers int) (count int, shape []int) {
	if !p.stacked {
		return 1, p.shape
	}
	return layers, append([]int{layers}, p.shape...)
}

// each calls f with the index of every entry of one layer in theirs and in ours.
func (p placed) each(f func(their, our int)) {
	size := 1
	for _, d := range p.shape {
		size *= d
	}
	for i := range size {
		our, rest := 0, i
		for axis := len(p.shape) - 1; axis >= 0; axis-- {
			our += rest % p.shape[axis] * p.strides[axis]
			rest /= p.shape[axis]
		}
		f(i, our)
	}
}

// rmtImport are their tensors as our parameters; every one must be there in its shape, and nothing else.
func rmtImport(c models.Spec, tensors []checkpoint.Tensor) ([]checkpoint.Tensor, error) {
	table, err := rmtTensors(c)
	if err != nil {
		return nil, err
	}
	given, shapes := map[string]checkpoint.Tensor{}, map[string][]int{}
	for _, t := range tensors {
		given[t.Name] = t
	}
	for _, p := range residuaTensors(c) {
		shapes[p.ours] = p.theirs[0].shape
	}
	var out []checkpoint.Tensor
	for _, p := range table {
		count, shape := p.whole(c.Layers)
		theirs, err := stored{p.theirs, shape}.take(given)
		if err != nil {
			return nil, err
		}
		size := len(theirs) / count
		for l := range count {
			ours, name := make([]float32, size), p.ourName(l)
			p.each(func(their, our int) { ours[our] = theirs[l*size+their] })
			out = append(out, checkpoint.Tensor{Name: name, Shape: shapes[name], Data: ours})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		return nil, tensorErrorf(name, "the authors' model of %d layers has none of that name", c.Layers)
	}
	return out, nil
}

// rmtExport are our parameters as their tensors.
func rmtExport(c models.Spec, tensors []checkpoint.Tensor) ([]checkpoint.Tensor, error) {
	table, err := rmtTensors(c)
	if err != nil {
		return nil, err
	}
	given := map[string][]float32{}
	for _, t := range tensors {
		given[t.Name] = t.Data.([]float32)
	}
	var out []checkpoint.Tensor
	for _, p := range table {
		count, shape := p.whole(c.Layers)
		var theirs []float32
		for l := range count {
			ours, from := given[p.ourName(l)], len(theirs)
			if ours == nil {
				return nil, tensorErrorf(p.ourName(l), "the authors' model has it, this one does not")
			}
			delete(given, p.ourName(l))
			theirs = append(theirs, make([]float32, len(ours))...)
			p.each(func(their, our int) { theirs[from+their] = ours[our] })
		}
		out = append(out, checkpoint.Tensor{Name: p.theirs, Shape: shape, Data: theirs})
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		return nil, tensorErrorf(name, "the model has it, the authors' does not")
	}
	return out, nil
}
