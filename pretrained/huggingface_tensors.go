package pretrained

import (
	"maps"
	"slices"
	"strings"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/models"
)

// imported is a parameter and the tensors that it is made of: one as it is or, transposed, some [out, in] side by side
// as columns, [in, sum of out].
type imported struct {
	ours       string
	theirs     []stored
	transposed bool
}

// stored is a tensor of a file.
type stored struct {
	name  string
	shape []int
}

// same is a parameter that is a tensor as it is.
func same(ours, theirs string, shape ...int) imported {
	return imported{ours: ours, theirs: []stored{{theirs, shape}}}
}

// columns is a parameter [in, sum of out] made of tensors [out, in].
func columns(ours string, theirs ...stored) imported { return imported{ours, theirs, true} }

// parameters returns a file's tensors as our parameters. Every tensor of the model must be there in its shape; nothing
// else may be, except what is unused and a head that equals the embedding to which it is tied.
func (a architecture) parameters(tensors []checkpoint.Tensor, c models.Spec) ([]checkpoint.Tensor, error) {
	given, err := a.byName(tensors)
	if err != nil {
		return nil, err
	}
	out, err := take(nil, given, a.ends(c))
	if err == nil && a.hasHead(c) {
		out, err = take(out, given, []imported{a.unembedding(c)})
	}
	for l := 0; l < c.Layers && err == nil; l++ {
		out, err = take(out, given, a.block(c, l))
	}
	if err != nil {
		return nil, err
	}
	if head, ok := given[a.head]; ok { // what is not tied was taken
		if err := checkTied(head, out[0]); err != nil {
			return nil, err
		}
		delete(given, a.head)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		return nil, tensorErrorf(name, "a %s of %d layers with a language model's head has none of that name", a.name, c.Layers)
	}
	return out, nil
}

// hasHead tells whether a model's files have a head that is no parameter in ends.
func (a architecture) hasHead(c models.Spec) bool { return a.head != "" && !c.TieEmbeddings }

// unembedding is the head of a model that is not tied.
func (a architecture) unembedding(c models.Spec) imported {
	return columns("unembedding", stored{a.head, []int{c.Vocab, c.Width()}})
}

// byName returns the tensors by name, without prefix and without what is unused.
func (a architecture) byName(tensors []checkpoint.Tensor) (map[string]checkpoint.Tensor, error) {
	given := map[string]checkpoint.Tensor{}
	for _, t := range tensors {
		name := strings.TrimPrefix(t.Name, a.prefix)
		if slices.ContainsFunc(a.unused, func(end string) bool { return strings.HasSuffix(name, end) }) {
			continue
		}
		if _, twice := given[name]; twice {
			return nil, tensorErrorf(name, "want it with or without the prefix %q, got both", a.prefix)
		}
		given[name] = t
	}
	return given, nil
}

// take moves the wanted tensors from given to the end of out, as our parameters.
func take(out []checkpoint.Tensor, given map[string]checkpoint.Tensor, wanted []imported) ([]checkpoint.Tensor, error) {
	for _, w := range wanted {
		var parts [][]float32
		for _, s := range w.theirs {
			part, err := s.take(given)
			if err != nil {
				return nil, err
			}
			parts = append(parts, part)
		}
		out = append(out, w.parameter(parts))
	}
	return out, nil
}

// take removes a tensor from given and returns its elements.
func (s stored) take(given map[string]checkpoint.Tensor) ([]float32, error) {
	t, ok := given[s.name]
	if !ok {
		return nil, tensorErrorf(s.name, "want it for the model of %s, the file has none", checkpoint.HuggingFaceConfig)
	}
	if !slices.Equal(t.Shape, s.shape) {
		return nil, tensorErrorf(t.Name, "want shape %v for the model of %s, got %v", s.shape, checkpoint.HuggingFaceConfig, t.Shape)
	}
	elements, err := t.Float32s()
	if err != nil {
		return nil, tensorErrorf(t.Name, "want F32, F16 or BF16 elements, got %s: convert the model to float32", t.DType())
	}
	delete(given, s.name)
	return elements, nil
}

// parameter is ours, of the elements of theirs.
func (w imported) parameter(parts [][]float32) checkpoint.Tensor {
	if !w.transposed {
		return checkpoint.Tensor{Name: w.ours, Shape: w.theirs[0].shape, Data: parts[0]}
	}
	in, out := w.theirs[0].shape[1], 0
	for _, s := range w.theirs {
		out += s.shape[0]
	}
	data, column := make([]float32, in*out), 0 // [in, out]
	for i, s := range w.theirs {
		transpose(data[column:], out, parts[i], in, s.shape[0], in)
		column += s.shape[0]
	}
	return checkpoint.Tensor{Name: w.ours, Shape: []int{in, out}, Data: data}
}

// transpose writes from [rows, columns] into to [columns, rows]; rows of each are so many elements apart. Tiles keep what
// is read and written in the cache.
func transpose(to []float32, toStride int, from []float32, fromStride, rows, columns int) {
	const tile = 32
	for top := 0; top < rows; top += tile {
		for left := 0; left < columns; left += tile {
			for r := top; r < min(top+tile, rows); r++ {
				for c := left; c < min(left+tile, columns); c++ {
					to[c*toStride+r] = from[r*fromStride+c]
				}
			}
		}
	}
}

// checkTied wants a head that is the embedding itself.
func checkTied(head, embedding checkpoint.Tensor) error {
	if !slices.Equal(head.Shape, embedding.Shape) {
		return tensorErrorf(head.Name, "want shape %v, the embedding's, got %v", embedding.Shape, head.Shape)
	}
	a, err := head.Float32s()
	if err != nil {
		return err
	}
	b, err := embedding.Float32s()
	if err == nil && !slices.Equal(a, b) {
		err = tensorErrorf(head.Name, "want the embedding, to which tie_word_embeddings ties it, got other values")
	}
	return err
}
