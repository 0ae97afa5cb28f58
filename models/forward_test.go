package models_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// TestForwardRefuses: a wrong input is an error of the model that names what it wants; later nodes
// are nil and nothing panics.
func TestForwardRefuses(t *testing.T) {
	c := modeltest.Resolve(t, tinyMatrix(plainly))
	tokens := func(dt tensor.Dtype, shape ...int) func(g *gorgonia.ExprGraph) *gorgonia.Node {
		return func(g *gorgonia.ExprGraph) *gorgonia.Node {
			return gorgonia.NewTensor(g, dt, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName("tokens"))
		}
	}
	for want, make := range map[string]func(g *gorgonia.ExprGraph) *gorgonia.Node{
		"models: Forward: want tokens [batch, seq] int32, got no node":                        func(*gorgonia.ExprGraph) *gorgonia.Node { return nil },
		"models: Forward: want tokens [batch, seq] int32, got float32 (2, 3)":                 tokens(tensor.Float32, 2, 3),
		"models: Forward: want tokens [batch, seq] int32, got int32 (6)":                      tokens(tensor.Int32, 6),
		"models: Forward: want at most 9 tokens a row, the model's learned positions, got 10": tokens(tensor.Int32, 2, 10),
		`graph: Positions: input 0: node "tokens" belongs to another graph`:                   func(*gorgonia.ExprGraph) *gorgonia.Node { return tokens(tensor.Int32, 2, 3)(gorgonia.NewGraph()) },
	} {
		g := gorgonia.NewGraph()
		m, err := models.New(g, c, graph.Options{})
		require.NoError(t, err)
		features := m.Forward(make(g))
		assert.Nil(t, features)
		assert.Nil(t, m.Logits(features))
		assert.Nil(t, m.Loss(features, nil, models.Auxiliary{}))
		assert.Nil(t, m.TokenLosses(features, nil))
		assert.EqualError(t, m.Err(), want)
	}
}

// TestNewRefuses: options that contradict each other or the graph are an error.
func TestNewRefuses(t *testing.T) {
	c := modeltest.Resolve(t, tinyVector(plainly))
	_, err := models.New(gorgonia.NewGraph(), models.Spec{Config: c.Config}, graph.Options{})
	assert.EqualError(t, err, "models: want a Spec that Config.Resolve made, got the zero value")
	_, err = models.New(nil, c, graph.Options{})
	assert.ErrorContains(t, err, "want a graph to build on, got nil")
	_, err = models.New(gorgonia.NewGraph(), c, graph.Options{DType: tensor.Int})
	assert.ErrorContains(t, err, "dtype: want float32 or float64, got int")
	_, err = models.New(gorgonia.NewGraph(), c, graph.Options{Store: graph.NewStore(tensor.Float64, 0)})
	assert.ErrorContains(t, err, "the store holds float64, want float32")

	other := graph.NewStore(tensor.Float32, 0)
	_, err = models.New(gorgonia.NewGraph(), modeltest.Resolve(t, tinyVector(func(c *models.Config) { c.FeedForward = gelu(18) })), graph.Options{Store: other})
	require.NoError(t, err)
	_, err = models.New(gorgonia.NewGraph(), c, graph.Options{Store: other})
	assert.ErrorContains(t, err, `parameter "blocks.0.feedforward.w1": the store has shape (15, 18), the graph wants [15 17]`)

	g := gorgonia.NewGraph()
	_, err = models.New(g, c, graph.Options{})
	require.NoError(t, err)
	_, err = models.New(g, c, graph.Options{})
	assert.ErrorContains(t, err, `the name "embedding" is taken`)
}

// TestForwardFrom: document starts can be given instead of found by BOS, also for rows of another
// length than in training.
func TestForwardFrom(t *testing.T) {
	masked := tinyMatrix(func(c *models.Config) { c.MaskDocuments = true })
	c := modeltest.Resolve(t, masked)
	store := modeltest.PerturbedStore(t, c, tensor.Float64)
	b := modeltest.RandomBatch(c, 1, 7, 1)
	b.Inputs[3] = int32(c.BOS)
	want := modeltest.Compile(t, c, store, modeltest.Setup{Rows: 1, Seq: 7}).On(t, b, graph.RunOptions{})

	masked.MaskDocuments = false
	c = modeltest.Resolve(t, masked)
	var logits *gorgonia.Node
	p, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Store: store, DType: tensor.Float64, Threads: 1}}, func(b *graph.Builder) (graph.Roots, error) {
		m, err := models.On(b, c)
		if err != nil {
			return graph.Roots{}, err
		}
		tokens, starts := b.Input("tokens", tensor.Int32, 1, 7), b.Input("starts", tensor.Int32, 1, 7)
		logits = m.Logits(m.ForwardFrom(tokens, starts))
		return graph.Roots{Outputs: gorgonia.Nodes{logits}}, m.Err()
	})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	copy(p.Ints("tokens"), b.Inputs)
	copy(p.Ints("starts"), []int32{0, 0, 0, 3, 3, 3, 3})
	require.NoError(t, p.Run(graph.RunOptions{}))
	assert.Equal(t, want.Logits, graph.Float64s(logits.Value().(*tensor.Dense)))
}

// TestBadToken: an id outside the vocabulary is an error of the run, not a crash.
func TestBadToken(t *testing.T) {
	c := modeltest.Resolve(t, tinyVector(plainly))
	p := modeltest.Compile(t, c, modeltest.NewStore(t, c, tensor.Float32, 0), modeltest.Setup{})
	p.Ints("tokens")[3] = int32(c.Vocab)
	assert.ErrorContains(t, p.Run(graph.RunOptions{}), "13")
	p.Ints("tokens")[3] = 0
	p.Ints("targets")[2] = int32(c.Vocab)
	assert.ErrorContains(t, p.Run(graph.RunOptions{}), "13")
	p.Ints("targets")[2] = 0
	assert.NoError(t, p.Run(graph.RunOptions{}), "the program goes on")
}
