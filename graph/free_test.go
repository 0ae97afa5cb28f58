package graph

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// freeCases name each free function's Builder case and call the function.
func freeCases() map[string]func(x, ids gorgonia.Nodes) (*gorgonia.Node, error) {
	rope := AttentionOptions{Heads: 2, Seq: 5, Scale: 0.5, RopeBase: 100}
	return map[string]func(x, ids gorgonia.Nodes) (*gorgonia.Node, error){
		"Embedding/matrices scaled": func(x, ids gorgonia.Nodes) (*gorgonia.Node, error) { return Embedding(x[0], ids[0], 0.5) },
		"Linear/scale": func(x, _ gorgonia.Nodes) (*gorgonia.Node, error) {
			return Linear(x[0], x[1], LinearOptions{Scale: 0.7})
		},
		"Linear/bias": func(x, _ gorgonia.Nodes) (*gorgonia.Node, error) {
			return Linear(x[0], x[1], LinearOptions{Bias: x[2]})
		},
		"Bias/vectors": func(x, _ gorgonia.Nodes) (*gorgonia.Node, error) { return Bias(x[0], x[1]) },
		"Norm/LayerNorm(eps=0.01) bias=true [4 5] over [5]": func(x, _ gorgonia.Nodes) (*gorgonia.Node, error) {
			return Norm(x[0], x[1], NormOptions{Eps: 1e-2, Bias: x[2]})
		},
		"Norm/LayerNorm(eps=1e-06) bias=false [4 5] over [5]": func(x, _ gorgonia.Nodes) (*gorgonia.Node, error) { return LayerNorm(x[0], x[1]) },
		"Norm/RMSNorm(eps=1e-06) bias=false [4 5] over [5]":   func(x, _ gorgonia.Nodes) (*gorgonia.Node, error) { return RMSNorm(x[0], x[1]) },
		"Read/[3 5 7] [2 5]":          func(x, _ gorgonia.Nodes) (*gorgonia.Node, error) { return Read(x[0], x[1]) },
		"Write/[] [2 5] [3 14]":       func(x, _ gorgonia.Nodes) (*gorgonia.Node, error) { return Write(nil, x[0], x[1]) },
		"Write/[3 5 7] [2 5] [3 2 7]": func(x, _ gorgonia.Nodes) (*gorgonia.Node, error) { return Write(x[2], x[0], x[1]) },
		"NormRead/RMSNorm(eps=1e-06) bias=false [3 5 7] [2 5]": func(x, _ gorgonia.Nodes) (*gorgonia.Node, error) {
			return NormRead(x[0], x[1], x[2], NormOptions{RMS: true})
		},
		"MixRead/{2 3 2 7} shared=false": func(x, _ gorgonia.Nodes) (*gorgonia.Node, error) { return MixRead(x[0], x[1], 2) },
		"MixWrite/{3 4 1 5} shared=true": func(x, _ gorgonia.Nodes) (*gorgonia.Node, error) { return MixWrite(x[0], x[1], x[2], 1) },
		"Reshape/matrices":               func(x, _ gorgonia.Nodes) (*gorgonia.Node, error) { return Reshape(x[0], 2, 4) },
		"Copies/vectors":                 func(x, _ gorgonia.Nodes) (*gorgonia.Node, error) { return Copies(x[0], 4) },
		"SumCopies/vectors":              func(x, _ gorgonia.Nodes) (*gorgonia.Node, error) { return SumCopies(x[0]) },
		"NormLinear/RMSNorm(eps=1e-06) gain=true [3 4 5] [5 6]": func(x, _ gorgonia.Nodes) (*gorgonia.Node, error) {
			return NormLinear(x[0], x[2], x[1], NormOptions{RMS: true})
		},
		"TanhCoefficients/[3 4 6] pair=true tau=0.3": func(x, _ gorgonia.Nodes) (*gorgonia.Node, error) {
			return TanhCoefficients(x[0], x[1], x[2], 0.3)
		},
		"SinkhornCoefficients/n=2 iterations=3 tokens=3": func(x, _ gorgonia.Nodes) (*gorgonia.Node, error) {
			return SinkhornCoefficients(x[0], x[1], x[2], 2, 3)
		},
		"PermutationCoefficients/n=3 tokens=3": func(x, _ gorgonia.Nodes) (*gorgonia.Node, error) {
			return PermutationCoefficients(x[0], x[1], x[2], 3)
		},
		"Gelu/exact=true [2 3 7]": func(x, _ gorgonia.Nodes) (*gorgonia.Node, error) { return Gelu(x[0], true) },
		"LinearGelu/both": func(x, _ gorgonia.Nodes) (*gorgonia.Node, error) {
			h, y, err := LinearGelu(x[0], x[1], true)
			if err != nil {
				return nil, err
			}
			return Add(h, y)
		},
		"CausalAttention/rope": func(x, _ gorgonia.Nodes) (*gorgonia.Node, error) { return CausalAttention(x[0], rope) },
		"CrossEntropy/z-loss": func(x, ids gorgonia.Nodes) (*gorgonia.Node, error) {
			return CrossEntropy(x[0], x[1], ids[0], LossOptions{ZLoss: 0.1})
		},
		"TokenLosses/transposed=false": func(x, ids gorgonia.Nodes) (*gorgonia.Node, error) {
			return TokenLosses(x[0], x[1], ids[0], LossOptions{Scale: 0.8})
		},
		"Add/3 of [1 1]":  func(x, _ gorgonia.Nodes) (*gorgonia.Node, error) { return Add(x...) },
		"Scale":           func(x, _ gorgonia.Nodes) (*gorgonia.Node, error) { return Scale(x[0], -0.3) },
		"Sigmoid/[2 3 7]": func(x, _ gorgonia.Nodes) (*gorgonia.Node, error) { return Sigmoid(x[0]) },
		"GLU/2 addends":   func(x, _ gorgonia.Nodes) (*gorgonia.Node, error) { return GLU(x[0], x[1], x[2]) },
		"Concat/matrices": func(x, _ gorgonia.Nodes) (*gorgonia.Node, error) { return Concat(x...) },
		"Slice/matrices":  func(x, _ gorgonia.Nodes) (*gorgonia.Node, error) { return Slice(x[0], 3, 8) },
		"LSTMCell/both": func(x, _ gorgonia.Nodes) (*gorgonia.Node, error) {
			cell, hidden, err := LSTMCell(x[0], LSTMGates{Input: x[1], Forget: x[2], Output: x[3], Candidate: x[4]})
			if err != nil {
				return nil, err
			}
			return Add(cell, hidden)
		},
		"Positions":      func(_, ids gorgonia.Nodes) (*gorgonia.Node, error) { return Positions(ids[0]) },
		"DocumentStarts": func(_, ids gorgonia.Nodes) (*gorgonia.Node, error) { return DocumentStarts(ids[0], 2) },
	}
}

// TestFreeFunctions checks that each free function makes the node that its Builder method
// makes: same results and gradients.
func TestFreeFunctions(t *testing.T) {
	cases := freeCases()
	for _, c := range opCases() {
		call, ok := cases[c.name]
		if !ok {
			continue
		}
		delete(cases, c.name)
		t.Run(c.name, func(t *testing.T) {
			want := newStock(t, c, NewStore(tensor.Float64, 3)).results(t, c)
			c.build = func(b *Builder, x, ids gorgonia.Nodes) *gorgonia.Node {
				n, err := call(x, ids)
				require.NoError(t, err)
				return n
			}
			require.Equal(t, want, newStock(t, c, NewStore(tensor.Float64, 3)).results(t, c))
			require.Equal(t, want, newProgram(t, c, NewStore(tensor.Float64, 3), ProgramOptions{}).results(t, c))
		})
	}
	require.Empty(t, cases, "no Builder case of that name")
}

// TestFreeFunctionErrors checks that each returns its error.
func TestFreeFunctionErrors(t *testing.T) {
	g := gorgonia.NewGraph()
	x := gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithShape(2, 3), gorgonia.WithName("x"))
	for name, call := range freeCases() {
		n, err := call(make(gorgonia.Nodes, 5), make(gorgonia.Nodes, 1))
		require.Nil(t, n, name)
		requireLine(t, err, "want a node, got nil")
	}
	_, err := Read(x, x)
	requireLine(t, err, "graph: Read: stream: want shape [tokens, Dk, Dv], got (2, 3)")
	_, err = Write(nil, nil, x)
	requireLine(t, err, "input 0: want a node, got nil")
	_, err = Add()
	requireLine(t, err, "want a node, got nil")
	other := gorgonia.NewMatrix(gorgonia.NewGraph(), tensor.Float32, gorgonia.WithShape(2, 3), gorgonia.WithName("y"))
	_, err = Add(x, other)
	requireLine(t, err, `node "y" belongs to another graph`)
	n, err := Scale(x, 2)
	require.NoError(t, err, "an error sticks to nothing")
	require.Equal(t, tensor.Shape{2, 3}, n.Shape())
}

// TestFreeFunctionsShareWorkers checks that the ops of one graph run on one set of workers.
func TestFreeFunctionsShareWorkers(t *testing.T) {
	if runtime.GOMAXPROCS(0) == 1 {
		t.Skip("one thread: there are no workers to count")
	}
	before := runtime.NumGoroutine()
	p, err := Compile(ProgramOptions{Options: Options{Threads: 3}}, func(b *Builder) (Roots, error) {
		x := b.Scale(b.Input("x", tensor.Float32, 4, 5), 2)
		for i := range 50 {
			var err error
			if x, err = Scale(x, 1+float64(i)); err != nil {
				return Roots{}, fmt.Errorf("step %d: %w", i, err)
			}
		}
		return Roots{Outputs: gorgonia.Nodes{x}}, b.Err()
	})
	require.NoError(t, err)
	defer p.Close()
	require.NoError(t, p.Run(RunOptions{}))
	require.LessOrEqual(t, runtime.NumGoroutine(), before+2)
}
