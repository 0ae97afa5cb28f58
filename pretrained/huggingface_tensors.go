package pretrained

import (
	"slices"
	"strings"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// stateHead is what transformers 5 calls the head in every state_dict, whatever the class's files
// call it.
const stateHead = "lm_head.weight"

// store returns a Store whose parameters come from a file's tensors. Every tensor of the model must
// exist in its shape. Other tensors are errors, except unused ones and a head that equals the
// embedding to which it is tied.
func (a Architecture) store(spec models.Spec, tensors []checkpoint.Tensor) (*graph.Store, error) {
	if a.Tensors == "" {
		return Serve(spec, tensors)
	}
	given := map[string]checkpoint.Tensor{}
	for _, t := range tensors {
		name := strings.TrimPrefix(t.Name, a.Prefix)
		if name == stateHead && a.Head != "" {
			name = a.Head
		}
		if slices.ContainsFunc(a.Unused, func(end string) bool { return strings.HasSuffix(name, end) }) {
			continue
		}
		if _, twice := given[name]; twice {
			return nil, tensorErrorf(name, "want it once, got %q, too", t.Name)
		}
		given[name] = t
	}
	head, tied := given[a.Head]
	if tied = tied && spec.TieEmbeddings; tied {
		delete(given, a.Head)
	}
	values, err := a.layout(spec).read(given)
	if err == nil && tied {
		err = checkTied(head, values["embedding"], spec)
	}
	if err != nil {
		return nil, err
	}
	plan, err := planOf(spec)
	if err != nil {
		return nil, err
	}
	for _, p := range plan.Params() {
		if gain, ok := a.gain(p.Name); ok {
			values[p.Name] = slices.Repeat([]float32{gain}, p.Size())
		}
	}
	return fill(plan, values)
}

// gain returns the value of a parameter that files lack.
func (a Architecture) gain(parameter string) (value float32, ok bool) {
	value, ok = a.Gains[parameter[strings.LastIndexByte(parameter, '.')+1:]]
	return value, ok
}

// write returns a model's parameters in the form of the architecture's files.
func (a Architecture) write(m *Model) ([]checkpoint.Tensor, error) {
	if err := m.Store.ToHost(); err != nil {
		return nil, err
	}
	if a.Tensors == "" {
		return Tensors(m.Store), nil
	}
	tensors, err := a.layout(m.Spec).write(m.Store)
	for i, t := range tensors {
		if t.Name != a.Head {
			tensors[i].Name = a.Prefix + t.Name
		}
	}
	return tensors, err
}

// checkTied checks that the head equals the embedding.
func checkTied(head checkpoint.Tensor, embedding []float32, spec models.Spec) error {
	if want := []int{spec.Vocab, spec.Width()}; !slices.Equal(head.Shape, want) {
		return tensorErrorf(head.Name, "want shape %v, the embedding's, got %v", want, head.Shape)
	}
	values, err := head.Float32s()
	if err == nil && !slices.Equal(values, embedding) {
		err = tensorErrorf(head.Name, "want the embedding, to which tie_word_embeddings ties it, got other values")
	}
	return err
}
