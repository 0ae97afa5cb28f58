package analysis

import (
	"slices"

	"github.com/residua-go/residua/analysis/cache"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// AblateHeads sets each head's output to 0 in turn, at all tokens: a row a layer, a column a
// head. Ablations does it on several rows, and with other values than 0.
func AblateHeads(store *graph.Store, c models.Spec, ids []int32, m Metric) (*Sweep, error) {
	a, err := NewAblations(store, c, [][]int32{ids}, nil, ReplaceZero)
	if err != nil {
		return nil, err
	}
	return a.Heads(0, m)
}

// headActivations are the names of what heads give.
func headActivations(c models.Spec) []string {
	var names []string
	for l := range c.Depth() {
		names = append(names, siteName(l, stream.Attention)+headsSuffix)
	}
	return names
}

// headsSuffix ends the names of heads' outputs, after the names of their attentions.
const headsSuffix = ".heads"

// AblateWriters sets what each writer writes to 0 in turn, at one token or, for the last
// column, at all: a row a writer, a column a token.
func AblateWriters(store *graph.Store, c models.Spec, ids []int32, m Metric) (*Sweep, error) {
	sketch, err := cache.Sketch(store, c)
	if err != nil {
		return nil, err
	}
	writers := inRunOrder(activations(sketch.Writers()), sketch.Builder().ActivationNames())
	s := newSweep("Zero ablation of what is written", "writer", graph.TokenAxis, len(ids), m)
	s.Columns = append(s.Columns, allTokens)
	return s, s.runModel(store, c, ids, writers, func(name string, column int) cache.Intervention {
		if column == len(ids) {
			return cache.Ablate(name, nil)
		}
		return cache.Ablate(name, cache.At{graph.TokenAxis: column})
	})
}

// allTokens is the column of an ablation at all tokens.
const allTokens = "all"

// inRunOrder sorts names by their places in the order in which the graph computes them.
func inRunOrder(names, order []string) []string {
	slices.SortFunc(names, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
	return names
}

// activations lists the activations that writers write.
func activations(writers []stream.Writer) []string {
	var names []string
	for _, w := range writers {
		names = append(names, w.Activation)
	}
	return names
}

// Ablate sets chosen entries of the activations that patterns name to 0, all together, and
// measures that alone. It is an error if one of the activations lacks an axis or index of at.
func Ablate(store *graph.Store, c models.Spec, ids []int32, patterns []string, at cache.At, m Metric) (*Sweep, error) {
	a, err := NewAblations(store, c, [][]int32{ids}, patterns, ReplaceZero)
	if err != nil {
		return nil, err
	}
	return a.Together(0, at, m)
}
