package modeltest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/loss"
	"github.com/residua-go/residua/models"
)

// Setup says what a test's program is like. The zero value evaluates a batch of 2 rows
// of the config's length.
type Setup struct {
	Rows, Seq int // 0: 2 rows, Config.Seq tokens
	Gradients bool
	Training  bool // dropout is active
	LossOnly  bool // the program has no output but the loss
	Recompute graph.Recompute
	Separate  bool // no two nodes share memory
	Threads   int  // 0: 1
	LogitsAt  int  // logits for this many tokens alone; 0: for all
	Hooks     graph.Hooks
	Cache     *graph.Cache // no loss then
	Auxiliary models.Auxiliary
	Precision graph.Precision
}

// Program is a compiled model with its nodes.
type Program struct {
	*models.Compiled
}

// Compile makes the program of a model over a store's parameters. It is closed when the
// test ends.
func Compile(t *testing.T, spec models.Spec, store *graph.Store, s Setup) *Program {
	t.Helper()
	if s.Rows == 0 {
		s.Rows = rows
	}
	if s.Seq == 0 {
		s.Seq = spec.Seq
	}
	all := s.Cache == nil && !s.LossOnly
	want := models.Outputs{Loss: s.Cache == nil, TokenLosses: all, Logits: !s.LossOnly, LogitsAt: s.LogitsAt, Features: !s.LossOnly, Auxiliary: s.Auxiliary}
	p, err := models.Compile(spec, s.Rows, s.Seq, want, graph.ProgramOptions{
		Gradients: s.Gradients, Recompute: s.Recompute, Separate: s.Separate,
		Options: graph.Options{Store: store, Threads: max(1, s.Threads), Hooks: s.Hooks, Training: s.Training, Cache: s.Cache, Precision: s.Precision},
	})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return &Program{p}
}

// evaluate runs a batch by a program that only evaluates.
func evaluate(t *testing.T, spec models.Spec, store *graph.Store, b Batch) Result {
	t.Helper()
	return Compile(t, spec, store, Setup{}).On(t, b)
}

// trained runs a batch twice by a program with gradients, the second time over used buffers, and
// returns what it computed then.
func trained(t *testing.T, spec models.Spec, store *graph.Store, b Batch, s Setup) (Result, map[string][]float64) {
	t.Helper()
	s.Gradients, s.Auxiliary = true, auxiliary
	p := Compile(t, spec, store, s)
	p.On(t, b)
	return p.On(t, b), Gradients(store)
}

// Result holds what a run computed. Features, Logits and TokenLosses are nil for a program
// of the loss only.
type Result struct {
	Loss, CrossEntropy, ZLoss     float64
	Features, Logits, TokenLosses []float64
}

// On runs the program on a batch, with at most one set of options.
func (p *Program) On(t *testing.T, b Batch, options ...graph.RunOptions) Result {
	t.Helper()
	copy(p.Tokens, b.Inputs)
	copy(p.Targets, b.Targets)
	require.NoError(t, p.Run(append(options, graph.RunOptions{})[0]))
	r := Result{Features: valuesOf(p.Features), Logits: valuesOf(p.Logits), TokenLosses: valuesOf(p.TokenLosses)}
	if total := p.Roots().Loss; total != nil {
		var err error
		r.Loss, err = graph.Scalar(total)
		require.NoError(t, err)
		r.CrossEntropy, r.ZLoss, err = loss.Parts(total)
		require.NoError(t, err)
	}
	return r
}

func valuesOf(n *gorgonia.Node) []float64 {
	if n == nil {
		return nil
	}
	if x, ok := n.Value().(*tensor.Dense); ok {
		return graph.Float64s(x)
	}
	return nil
}
