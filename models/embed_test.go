package models_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/designrows"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// TestStockTraining trains models with stock Gorgonia alone, gorgonia.Grad, the tape machine and
// its solvers, as a program that embeds our graphs would.
func TestStockTraining(t *testing.T) {
	for name, c := range map[string]models.Config{
		"matrix": tinyMatrix(leCunTied),
		"vector": tinyVector(leCunTied),
	} {
		t.Run(name+"/loss", func(t *testing.T) { trainStock(t, c, ownLoss, gorgonia.NewAdamSolver(gorgonia.WithLearnRate(0.01))) })
		t.Run(name+"/loss/rmsprop", func(t *testing.T) { trainStock(t, c, ownLoss, gorgonia.NewRMSPropSolver(gorgonia.WithLearnRate(0.01))) })
		t.Run(name+"/stock-head", func(t *testing.T) { trainStock(t, c, stockHead, gorgonia.NewAdamSolver(gorgonia.WithLearnRate(0.01))) })
	}
}

// TestStockTrainingZoo trains every other stream and a mixture of experts in the same way, with a
// loss of stock nodes.
func TestStockTrainingZoo(t *testing.T) {
	tiedBy := designrows.Read[map[string]any](t, "tied")
	for i, c := range append(zooBases(t), moeBase()) {
		leCunTied(&c)
		if settings := tiedBy[c.Stream.Name()]; settings != nil {
			c = designrows.Model{"stream": settings}.On(t, c.Stream.Name(), c)
		}
		t.Run(fmt.Sprintf("%s/%d", c.Stream.Name(), i), func(t *testing.T) {
			longtest.Select(t, i%4 == 0)
			trainStock(t, c, stockHead, gorgonia.NewAdamSolver(gorgonia.WithLearnRate(0.01)))
		})
	}
	moe := moeBase()
	moe.Init = models.InitLeCun
	t.Run("losses of experts", func(t *testing.T) { trainStock(t, moe, ownLoss, gorgonia.NewAdamSolver(gorgonia.WithLearnRate(0.01))) })
}

func leCunTied(c *models.Config) { c.Init, c.TieEmbeddings = models.InitLeCun, true }

// headOf makes a loss from features [T, ...F], and returns it with the nodes to train.
type headOf func(t *testing.T, g *gorgonia.ExprGraph, m *models.Model, features *gorgonia.Node, b modeltest.Batch) (loss *gorgonia.Node, learn gorgonia.Nodes)

// ownLoss makes the model's own loss, with the losses of experts if there are any, and trains all
// parameters.
func ownLoss(_ *testing.T, g *gorgonia.ExprGraph, m *models.Model, features *gorgonia.Node, b modeltest.Batch) (*gorgonia.Node, gorgonia.Nodes) {
	return m.Loss(features, intInput(g, "targets", b, b.Targets), models.Auxiliary{BalanceLoss: 0.01, RouterZLoss: 1e-3}), m.Learnables()
}

// stockHead makes a regression from stock nodes on the model's features: it predicts whether the
// token is odd from X W, with a stock product, sum and square. It does not use the unembedding.
func stockHead(t *testing.T, g *gorgonia.ExprGraph, m *models.Model, features *gorgonia.Node, b modeltest.Batch) (*gorgonia.Node, gorgonia.Nodes) {
	tokens, width := features.Shape()[0], m.Spec().Width()
	wanted := make([]float32, tokens)
	for i, id := range b.Inputs {
		wanted[i] = float32(id % 2)
	}
	w := gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithShape(width, 1), gorgonia.WithName("head"),
		gorgonia.WithValue(tensor.New(tensor.WithShape(width, 1), tensor.Of(tensor.Float32))))
	want := gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithShape(tokens, 1), gorgonia.WithName("parity"),
		gorgonia.WithValue(tensor.New(tensor.WithShape(tokens, 1), tensor.WithBacking(wanted))))
	flat, err := gorgonia.Reshape(features, tensor.Shape{tokens, width})
	require.NoError(t, err)
	difference := gorgonia.Must(gorgonia.Sub(gorgonia.Must(gorgonia.Mul(flat, w)), want))
	return gorgonia.Must(gorgonia.Mean(gorgonia.Must(gorgonia.Square(difference)))), append(m.Learnables(), w)
}

func intInput(g *gorgonia.ExprGraph, name string, b modeltest.Batch, values []int32) *gorgonia.Node {
	value := tensor.New(tensor.WithShape(b.Rows, b.Seq), tensor.WithBacking(append([]int32(nil), values...)))
	return gorgonia.NewMatrix(g, tensor.Int32, gorgonia.WithShape(b.Rows, b.Seq), gorgonia.WithName(name), gorgonia.WithValue(value))
}

// trainStock makes some steps; the loss must fall to less than half.
func trainStock(t *testing.T, config models.Config, head headOf, solver gorgonia.Solver) {
	g, c := gorgonia.NewGraph(), modeltest.Resolve(t, config)
	m, err := models.New(g, c, graph.Options{Seed: 3})
	require.NoError(t, err)
	b := modeltest.RandomBatch(c, 2, c.Seq, 1)
	loss, learn := head(t, g, m, m.Forward(intInput(g, "tokens", b, b.Inputs)), b)
	require.NoError(t, m.Err())
	gradients, err := gorgonia.Grad(loss, learn...)
	require.NoError(t, err)
	vm := gorgonia.NewTapeMachine(g, gorgonia.BindDualValues(learn...))
	defer func() { require.NoError(t, vm.Close()) }()
	const steps = 60
	var losses []float64
	for range steps {
		require.NoError(t, vm.RunAll())
		value, err := graph.Scalar(loss)
		require.NoError(t, err)
		losses = append(losses, value)
		for i, n := range learn {
			bound, err := n.Grad()
			require.NoError(t, err)
			require.Equal(t, gradients[i].Value().Data(), bound.Data(), "gradient of %q that the solver gets", n.Name())
		}
		require.NoError(t, solver.Step(gorgonia.NodesToValueGrads(learn)))
		vm.Reset()
	}
	assert.Less(t, losses[steps-1], losses[0]/2, "losses %.3f", losses)
	start := modeltest.NewStore(t, c, tensor.Float32, 3)
	for _, p := range m.Store().Params() {
		assert.NotEqual(t, start.Param(p.Name).Value.Float32s(), p.Value.Float32s(), "%q in the model's store has learned", p.Name)
	}
}
