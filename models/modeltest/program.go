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
	Hooks     graph.Hooks
	Cache     *graph.Cache // no loss then
	Auxiliary models.Auxiliary
}

// Program is a compiled model with its nodes.
type Program struct {
	*graph.Program
	model                               *models.Model
	features, logits, loss, tokenLosses *gorgonia.Node
}

// Compile makes the program of a model over a store's parameters. It is closed when the
// test ends.
func Compile(t *testing.T, c models.Spec, store *graph.Store, s Setup) *Program {
	t.Helper()
	if s.Rows == 0 {
		s.Rows = rows
	}
	if s.Seq == 0 {
		s.Seq = c.Seq
	}
	p := &Program{}
	var err error
	p.Program, err = graph.Compile(graph.ProgramOptions{
		Gradients: s.Gradients, Recompute: s.Recompute, Separate: s.Separate,
		Options: graph.Options{Store: store, DType: store.DType(), Threads: max(1, s.Threads), Hooks: s.Hooks, Training: s.Training, Cache: s.Cache},
	}, func(b *graph.Builder) (graph.Roots, error) { return p.build(b, c, s) })
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

func (p *Program) build(b *graph.Builder, c models.Spec, s Setup) (graph.Roots, error) {
	m, err := models.On(b, c)
	if err != nil {
		return graph.Roots{}, err
	}
	p.model = m
	p.features = m.Forward(b.Input("tokens", tensor.Int32, s.Rows, s.Seq))
	var roots graph.Roots
	if s.Cache == nil {
		targets := b.Input("targets", tensor.Int32, s.Rows, s.Seq)
		p.loss = m.Loss(p.features, targets, s.Auxiliary)
		roots.Loss = p.loss
		if !s.LossOnly {
			p.tokenLosses = m.TokenLosses(p.features, targets)
			roots.Outputs = gorgonia.Nodes{p.tokenLosses}
		}
	}
	if !s.LossOnly {
		p.logits = m.Logits(p.features)
		roots.Outputs = append(roots.Outputs, p.features, p.logits)
	}
	return roots, m.Err()
}

// Result is what a run computed. Features, Logits and TokenLosses are nil for a program
// of the loss only.
type Result struct {
	Loss, CrossEntropy, ZLoss     float64
	Features, Logits, TokenLosses []float64
}

// On runs the program on a batch.
func (p *Program) On(t *testing.T, b Batch, o graph.RunOptions) Result {
	t.Helper()
	copy(p.Ints("tokens"), b.Inputs)
	copy(p.Ints("targets"), b.Targets)
	require.NoError(t, p.Run(o))
	var r Result
	if p.loss != nil {
		var err error
		r.Loss, err = graph.Scalar(p.loss)
		require.NoError(t, err)
		r.CrossEntropy, r.ZLoss, err = loss.Parts(p.loss)
		require.NoError(t, err)
	}
	r.Features, r.Logits, r.TokenLosses = valuesOf(p.features), valuesOf(p.logits), valuesOf(p.tokenLosses)
	if p.logits == nil {
		r.Features = nil
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
