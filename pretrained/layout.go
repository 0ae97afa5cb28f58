package pretrained

import (
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// layout says how an architecture's files hold a model's parameters.
type layout struct {
	Architecture
	rows   []row
	sizes  map[byte]int // sizes of axes
	layers int
	order  []int  // of the entries of heads of queries and keys, see headOrder
	from   string // where the sizes are from, for errors
}

// row says where the entries of a tensor (theirs) lie in one of our parameters (ours). Axes
// are letters: if the tensor's axes are VvR and the parameter's VRv, the tensor's entry (i, j,
// k) is the parameter's (i, k, j). If several tensors make up one parameter, they lie side by
// side along the axes after its first, in the order of the rows. Rows with the same tensor are
// parts of it, one after the other along its first axis. Their axes in brackets are one axis of the
// tensor, as in "(H3h)D". In a name, %d is the number of a block; a tensor whose first axis is L
// holds all blocks.
type row struct{ ours, axes, theirs, theirAxes, gguf string }

// layout parses the architecture's table: each line is a row, with the columns ours, axes,
// theirs, theirAxes and, optionally, gguf.
func (a Architecture) layout(spec models.Spec) layout {
	queries, keys := spec.HeadCount()*spec.HeadDim(), spec.KVHeads()*spec.HeadDim()
	l := layout{Architecture: a, from: checkpoint.HuggingFaceConfig, layers: spec.Layers, order: a.headOrder(spec),
		sizes: map[byte]int{'L': spec.Layers, 'V': spec.Vocab, 'T': spec.Seq, 'D': spec.Width(), 'F': spec.FeedForwardShape().Hidden,
			'Q': queries, 'K': keys, 'W': keys, 'A': queries + 2*keys, 'H': spec.HeadCount(), 'G': spec.KVHeads(), 'h': spec.HeadDim(), 'e': spec.HeadDim() / 2,
			'2': 2, '3': 3}}
	maps.Copy(l.sizes, a.sizes)
	for line := range strings.Lines(a.Tensors) {
		f := append(strings.Fields(line), "")
		if !a.lacks(spec, f[0]) {
			l.rows = append(l.rows, row{f[0], f[1], f[2], f[3], f[4]})
		}
	}
	return l
}

// lacks tells whether a model of the architecture has no parameter of that name, although others
// have it.
func (a Architecture) lacks(spec models.Spec, ours string) bool {
	end := ours[strings.LastIndexByte(ours, '.')+1:]
	switch biases := spec.Attention.Bias; {
	case end == "unembedding":
		return spec.TieEmbeddings
	case a.ZeroBiases || spec.Bias:
		return false
	case end == "qkv_bias":
		return biases == ""
	case end == "o_bias":
		return biases != stream.HeadBiasesAll
	}
	return strings.HasSuffix(end, "_bias") && !spec.FFBias
}

// placed is a tensor, with the place of its entries in a parameter. It has one layer for each
// block if it holds all blocks, otherwise one layer.
type placed struct {
	name          string
	shape         []int
	ours          string // the parameter, with %d if the tensor has several layers
	layers        int
	count         int  // number of entries of a layer
	gain          bool // the tensor holds gains less 1
	from          int  // of a part of a tensor: index of its first entry there
	more          bool // further parts of the tensor follow
	size          int  // size of a parameter
	same          bool // a layer's entries are the parameter's, in the same order
	at            int  // index of the first entry in the parameter
	axes, strides []int
}

// tensors lists a model's tensors, those of blocks last.
func (l layout) tensors() iter.Seq[placed] {
	return func(yield func(placed) bool) {
		for block := -1; block < l.layers; block++ {
			for i, r := range l.rows {
				if strings.Contains(r.theirs, "%d") == (block >= 0) && !yield(l.place(i, block)) {
					return
				}
			}
		}
	}
}

// place returns the tensor of row i, for a block if the row has one tensor for each block.
func (l layout) place(i, block int) placed {
	r := l.rows[i]
	p := placed{name: numbered(r.theirs, block), ours: r.ours, layers: 1}
	axes, stacked := strings.CutPrefix(r.theirAxes, "L")
	if stacked {
		p.layers, p.shape = l.layers, []int{l.layers}
	} else {
		p.ours = numbered(r.ours, block)
	}
	p.shape = append(p.shape, l.merged(axes)...)
	axes = strings.NewReplacer("(", "", ")", "").Replace(axes)
	vector := strings.HasSuffix(r.ours, "_bias")
	width := 0 // product of the parameter's axes after its first; of a vector's parts, of all axes
	for k, other := range l.rows {
		if k == i {
			p.at = width
		}
		if other.ours == r.ours && vector {
			width += l.entries(other.axes)
		} else if other.ours == r.ours {
			width += l.entries(other.axes[1:])
		}
	}
	p.count, p.size = l.entries(axes), width*l.sizes[r.axes[0]]
	if vector {
		p.size, width = width, l.entries(r.axes[1:])
	}
	p.same = r.axes == axes && p.count == p.size
	for k := range len(axes) {
		stride := width
		if at := strings.IndexByte(r.axes, axes[k]); at > 0 {
			stride = l.entries(r.axes[at+1:])
		}
		p.axes, p.strides = append(p.axes, l.sizes[axes[k]]), append(p.strides, stride)
	}
	p.gain = l.GainsLess1 && len(p.axes) == 1
	l.addParts(&p, i)
	return p
}

// addParts sets where the part of row i lies in a tensor of several rows, and the tensor's shape.
func (l layout) addParts(p *placed, i int) {
	length := 0
	for k, other := range l.rows {
		if other.theirs != l.rows[i].theirs {
			continue
		}
		if k < i {
			p.from += l.entries(other.axes)
		}
		p.more, length = p.more || k > i, length+l.merged(other.theirAxes)[0]
	}
	if p.from > 0 || p.more {
		p.shape[0] = length
	}
}

// merged returns the shape of a tensor with these axes, those in brackets being one.
func (l layout) merged(axes string) (shape []int) {
	inside := false
	for i := range len(axes) {
		switch size := l.sizes[axes[i]]; {
		case axes[i] == '(':
			inside, shape = true, append(shape, 1)
		case axes[i] == ')':
			inside = false
		case inside:
			shape[len(shape)-1] *= size
		default:
			shape = append(shape, size)
		}
	}
	return shape
}

// numbered replaces %d in a pattern by the number of a block.
func numbered(pattern string, block int) string {
	return strings.Replace(pattern, "%d", strconv.Itoa(block), 1)
}

// entries returns the product of the sizes of axes.
func (l layout) entries(axes string) int {
	n := 1
	for i := range len(axes) {
		n *= l.sizes[axes[i]]
	}
	return n
}

// each calls f with the index of every entry in a layer's tensor and its index in the parameter.
func (p placed) each(f func(their, our int)) {
	last := len(p.axes) - 1
	for their := 0; their < p.count; their += p.axes[last] {
		our, rest := p.at, their/p.axes[last]
		for axis := last - 1; axis >= 0; axis-- {
			our += rest % p.axes[axis] * p.strides[axis]
			rest /= p.axes[axis]
		}
		for i := range p.axes[last] {
			f(their+i, our+i*p.strides[last])
		}
	}
}

// read returns the values of our parameters. tensors must have every tensor of the model, of
// the right shape, and no other whose elements are decoded.
func (l layout) read(tensors map[string]checkpoint.Tensor) (map[string][]float32, error) {
	values := map[string][]float32{}
	for p := range l.tensors() {
		theirs, err := l.take(tensors, p.name, p.shape, p.more)
		if err != nil {
			return nil, err
		}
		theirs = theirs[p.from:]
		for layer := range p.layers {
			name, part := numbered(p.ours, layer), theirs[layer*p.count:][:p.count]
			if p.gain {
				part = plus(part, 1)
			}
			if p.same {
				values[name] = part
				continue
			}
			if values[name] == nil {
				values[name] = make([]float32, p.size)
			}
			ours := values[name]
			p.each(func(their, our int) { ours[our] = part[their] })
		}
	}
	for name, x := range values {
		values[name] = l.reordered(name, x, false)
	}
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		if !isDecoded(tensors[name]) {
			continue
		}
		return nil, tensorErrorf(name, "a model of type %s with %d layers and a language model's head has none of that name", l.Type, l.layers)
	}
	return values, nil
}

// isDecoded tells whether a tensor's elements were read; masks and the like are not.
func isDecoded(t checkpoint.Tensor) bool {
	_, un := t.Data.(checkpoint.Undecoded)
	return !un
}

// plus returns x with c added to each entry.
func plus(x []float32, c float32) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = v + c
	}
	return y
}

// take returns a tensor's elements, and removes it from a file's tensors unless it is kept.
func (l layout) take(tensors map[string]checkpoint.Tensor, name string, shape []int, keep bool) ([]float32, error) {
	t, ok := tensors[name]
	if !ok {
		return nil, tensorErrorf(name, "want it for the model of %s, the file has none", l.from)
	}
	if !slices.Equal(t.Shape, shape) {
		return nil, tensorErrorf(t.Name, "want shape %v for the model of %s, got %v", shape, l.from, t.Shape)
	}
	elements, err := t.Float32s()
	if err != nil {
		return nil, tensorErrorf(t.Name, "want F32, F16 or BF16 elements, got %s: convert the model to float32", t.DType())
	}
	if !keep {
		delete(tensors, name)
	}
	return elements, nil
}

// write returns a Store's parameters in the layout, in the order of the rows.
func (l layout) write(store *graph.Store) ([]checkpoint.Tensor, error) {
	values, written := map[string][]float32{}, map[string]bool{}
	for _, t := range Tensors(store) {
		if gain, ok := l.gain(t.Name); ok {
			if slices.ContainsFunc(t.Data.([]float32), func(v float32) bool { return v != gain }) {
				return nil, tensorErrorf(t.Name, "want %g in every entry, which a model of type %s has, got others: its gains were trained", gain, l.Type)
			}
			continue
		}
		values[t.Name] = l.reordered(t.Name, t.Data.([]float32), true)
	}
	var out []checkpoint.Tensor
	for p := range l.tensors() {
		var parts [][]float32 // one for each layer
		for layer := range p.layers {
			name := numbered(p.ours, layer)
			ours, ok := values[name]
			if !ok && !(l.ZeroBiases && strings.HasSuffix(name, "_bias")) {
				return nil, tensorErrorf(name, "a model of type %s has it, this one does not", l.Type)
			}
			part := ours
			if !ok || !p.same {
				part = make([]float32, p.count)
			}
			if ok && !p.same {
				p.each(func(their, our int) { part[their] = ours[our] })
			}
			if p.gain {
				part = plus(part, -1)
			}
			written[name], parts = true, append(parts, part)
		}
		if p.from > 0 {
			last := &out[slices.IndexFunc(out, func(t checkpoint.Tensor) bool { return t.Name == p.name })]
			last.Data = slices.Concat(last.Data.([]float32), parts[0])
			continue
		}
		t := checkpoint.Tensor{Name: p.name, Shape: p.shape, Data: parts[0]}
		if p.layers > 1 {
			t.Data = slices.Concat(parts...)
		}
		out = append(out, t)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !written[name] {
			return nil, tensorErrorf(name, "the model has it, one of type %s does not", l.Type)
		}
	}
	return out, nil
}
