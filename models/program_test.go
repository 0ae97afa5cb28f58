package models_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// vocab and bos are the vocabulary's size and the start token of all models here.
const vocab, bos = 13, 2

// smallStreams lists the kinds of streams of the models here.
var smallStreams = []string{"matrix", "vector"}

// auxiliary is what the models add to the cross-entropy.
var auxiliary = models.Auxiliary{ZLoss: 0.01}

// smallConfig returns a small model whose sizes are not round numbers.
func smallConfig(kind, positions string) models.Config {
	c := models.Config{FeedForward: layers.GELUConfig{Hidden: 11}, Layers: 2, Vocab: vocab, Seq: 9, Init: models.InitLeCun, EmbeddingStd: 0.5}
	c.Attention.Positions = positions
	if kind == "matrix" {
		c.Stream = stream.MatrixConfig{Dk: 5, Dv: 4, Rank: 3}
	} else {
		c.Stream = stream.VectorConfig{Vectors: stream.Vectors{D: 12}}
		c.Attention.Heads, c.Bias, c.TieEmbeddings = 3, true, true
	}
	return c
}

// wake gives every parameter that starts at zero random values: an unembedding of zeros
// would hide most mistakes.
func wake(t *testing.T, s *graph.Store) {
	t.Helper()
	r := rand.New(rand.NewPCG(4, 4))
	for _, p := range s.Params() {
		values := graph.Float64s(p.Value)
		for i := range values {
			values[i] += 0.3 * r.NormFloat64()
		}
		require.NoError(t, graph.SetFloat64s(p.Value, values))
	}
}

// modelProgram compiles a model's loss or logits over tokens [rows, seq].
type modelProgram struct {
	*graph.Program
	logits, loss *gorgonia.Node
}

func compileModel(t *testing.T, o graph.ProgramOptions, c models.Config, rows, seq int) *modelProgram {
	t.Helper()
	m, spec := &modelProgram{}, modeltest.Resolve(t, c)
	p, err := graph.Compile(o, func(b *graph.Builder) (graph.Roots, error) {
		model, err := models.On(b, spec)
		if err != nil {
			return graph.Roots{}, err
		}
		features := model.Forward(b.Input("tokens", tensor.Int32, rows, seq))
		if o.Gradients {
			m.loss = model.Loss(features, b.Input("targets", tensor.Int32, rows, seq), auxiliary)
			return graph.Roots{Loss: m.loss}, b.Err()
		}
		m.logits = model.Logits(features)
		return graph.Roots{Outputs: gorgonia.Nodes{m.logits}}, b.Err()
	})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	m.Program = p
	return m
}

func drawTokens(ids []int32, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 6))
	for i := range ids {
		ids[i] = int32(r.IntN(vocab))
		if r.IntN(4) == 0 {
			ids[i] = bos
		}
	}
}

func (m *modelProgram) run(t *testing.T, o graph.RunOptions) {
	t.Helper()
	require.NoError(t, m.Run(o))
}

// results returns the loss and all gradients.
func (m *modelProgram) results(t *testing.T) []float64 {
	t.Helper()
	loss, err := graph.Scalar(m.loss)
	require.NoError(t, err)
	all := []float64{loss}
	for _, p := range m.Store().Params() {
		all = append(all, graph.Float64s(p.Grad)...)
	}
	return all
}

// eachConfig runs a test for both streams and all kinds of positions.
func eachConfig(t *testing.T, test func(t *testing.T, c models.Config)) {
	for _, kind := range smallStreams {
		for _, positions := range []string{models.PositionsLearned, models.PositionsALiBi, models.PositionsRoPE, models.PositionsNone} {
			t.Run(kind+" "+positions, func(t *testing.T) { test(t, smallConfig(kind, positions)) })
		}
	}
}

// TestModelUnderStockGrad compares a whole model's gradients from a Program with those from
// gorgonia.Grad on a stock tape machine. It also checks that the Program has no dead node.
func TestModelUnderStockGrad(t *testing.T) {
	eachConfig(t, func(t *testing.T, c models.Config) {
		c.MaskDocuments, c.BOS = true, bos
		const rows, seq = 2, 7
		store := graph.NewStore(tensor.Float64, 1)
		p := compileModel(t, graph.ProgramOptions{Options: graph.Options{Store: store, DType: tensor.Float64, Threads: 2}, Gradients: true}, c, rows, seq)
		require.Empty(t, p.DeadNodes())
		wake(t, store)
		drawTokens(p.Ints("tokens"), 1)
		drawTokens(p.Ints("targets"), 2)
		p.run(t, graph.RunOptions{})

		g := gorgonia.NewGraph()
		model, err := models.New(g, modeltest.Resolve(t, c), graph.Options{Store: store, DType: tensor.Float64, Threads: 2})
		require.NoError(t, err)
		tokens, targets := model.Builder().Input("tokens", tensor.Int32, rows, seq), model.Builder().Input("targets", tensor.Int32, rows, seq)
		loss := model.Loss(model.Forward(tokens), targets, auxiliary)
		require.NoError(t, model.Err())
		grads, err := gorgonia.Grad(loss, model.Learnables()...)
		require.NoError(t, err)
		require.NoError(t, gorgonia.Let(tokens, p.Input("tokens")))
		require.NoError(t, gorgonia.Let(targets, p.Input("targets")))
		vm := gorgonia.NewTapeMachine(g)
		defer func() { require.NoError(t, vm.Close()) }()
		for range 2 {
			vm.Reset()
			require.NoError(t, vm.RunAll())
			value, err := graph.Scalar(loss)
			require.NoError(t, err)
			got := []float64{value}
			for _, grad := range grads {
				got = append(got, graph.Float64s(grad.Value().(*tensor.Dense))...)
			}
			require.InDeltaSlice(t, p.results(t), got, 1e-12)
		}
	})
}

// TestModelRecompute checks that training with recomputation gives the same bits in less memory.
func TestModelRecompute(t *testing.T) {
	for _, kind := range smallStreams {
		c := smallConfig(kind, models.PositionsLearned)
		c.Layers, c.Dropout = 12, 0.1
		var want []float64
		arena := 0
		for _, recompute := range []graph.Recompute{graph.RecomputeNone, graph.RecomputeBlock} {
			p := compileModel(t, graph.ProgramOptions{Options: graph.Options{Threads: 2, Training: true, Seed: 5}, Gradients: true, Recompute: recompute}, c, 2, 9)
			require.Empty(t, p.DeadNodes())
			wake(t, p.Store())
			drawTokens(p.Ints("tokens"), 1)
			drawTokens(p.Ints("targets"), 2)
			p.run(t, graph.RunOptions{Step: 3})
			if want == nil {
				want, arena = p.results(t), p.Memory().Arena
				continue
			}
			require.Equal(t, want, p.results(t))
			t.Logf("%s: arena %d bytes, %d with recomputation", kind, arena, p.Memory().Arena)
			require.Less(t, 2*p.Memory().Arena, arena)
		}
	}
}

// configHookNames returns the names of all activations of a model.
func configHookNames(c models.Config) []string {
	names := []string{"embedding.out", "features"}
	for l := range c.Layers {
		for _, name := range []string{"attention.norm.out", "attention.qkv", "attention.heads", "attention.write", "attention.stream",
			"feedforward.norm.out", "feedforward.in", "feedforward.hidden", "feedforward.activations", "feedforward.out",
			"feedforward.write", "feedforward.stream"} {
			names = append(names, fmt.Sprintf("blocks.%d.%s", l, name))
		}
	}
	return append(names, "norm.out")
}

// TestModelHooks checks that logits with all names hooked equal those without hooks, that every
// name exists, and that a replaced activation changes the logits.
func TestModelHooks(t *testing.T) {
	eachConfig(t, func(t *testing.T, c models.Config) {
		store := graph.NewStore(tensor.Float32, 1)
		o := graph.Options{Store: store, Threads: 2}
		plain := compileModel(t, graph.ProgramOptions{Options: o}, c, 2, c.Seq)
		wake(t, store)
		drawTokens(plain.Ints("tokens"), 1)
		plain.run(t, graph.RunOptions{})
		want := graph.Float64s(plain.logits.Value().(*tensor.Dense))
		largest := 0.0
		for _, v := range want {
			largest = max(largest, math.Abs(v))
		}

		o.Hooks = graph.Hooks{}
		for _, name := range configHookNames(c) {
			o.Hooks[name] = nil
		}
		hooked := compileModel(t, graph.ProgramOptions{Options: o}, c, 2, c.Seq)
		copy(hooked.Ints("tokens"), plain.Ints("tokens"))
		hooked.run(t, graph.RunOptions{})
		require.InDeltaSlice(t, want, graph.Float64s(hooked.logits.Value().(*tensor.Dense)), 1e-6*max(1, largest))
		for _, name := range configHookNames(c) {
			value, err := hooked.Hooked(name)
			require.NoError(t, err)
			require.Positive(t, value.DataSize(), name)
		}

		o.Hooks = graph.Hooks{"blocks.1.feedforward.stream": func(_ string, x *tensor.Dense) error {
			return graph.SetFloat64s(x, make([]float64, x.DataSize()))
		}}
		replaced := compileModel(t, graph.ProgramOptions{Options: o}, c, 2, c.Seq)
		copy(replaced.Ints("tokens"), plain.Ints("tokens"))
		replaced.run(t, graph.RunOptions{})
		got := graph.Float64s(replaced.logits.Value().(*tensor.Dense))
		for i := range got { // all tokens end with the same, empty stream
			require.InDelta(t, got[i%vocab], got[i], 1e-6)
		}
		require.NotEqual(t, want, got)
	})
}

// TestModelBetweenStockNodes puts stock nodes after a model's features: shared buffers,
// separate ones and the stock tape machine agree bit for bit.
func TestModelBetweenStockNodes(t *testing.T) {
	for _, kind := range smallStreams {
		spec := modeltest.Resolve(t, smallConfig(kind, models.PositionsALiBi))
		build := func(b *graph.Builder) (*gorgonia.Node, error) {
			model, err := models.On(b, spec)
			if err != nil {
				return nil, err
			}
			features := model.Forward(b.Input("tokens", tensor.Int32, 2, 5))
			flat, err := gorgonia.Reshape(features, tensor.Shape{10, 12})
			if err != nil {
				return nil, err
			}
			shifted, err := gorgonia.Add(flat, b.Input("shift", tensor.Float32, 10, 12))
			if err != nil {
				return nil, err
			}
			return model.Loss(shifted, b.Input("targets", tensor.Int32, 10), auxiliary), b.Err()
		}
		var want []float64
		for _, separate := range []bool{false, true} {
			m := &modelProgram{}
			p, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Threads: 2}, Gradients: true, Separate: separate},
				func(b *graph.Builder) (graph.Roots, error) {
					var err error
					m.loss, err = build(b)
					return graph.Roots{Loss: m.loss}, err
				})
			require.NoError(t, err)
			defer p.Close()
			m.Program = p
			wake(t, p.Store())
			drawTokens(p.Ints("tokens"), 1)
			drawTokens(p.Ints("targets"), 2)
			copy(p.Input("shift").Float32s(), []float32{1, -2, 3})
			for range 2 {
				m.run(t, graph.RunOptions{})
				if want == nil {
					want = m.results(t)
				}
				require.Equal(t, want, m.results(t))
			}
		}
	}
}
