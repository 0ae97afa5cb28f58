package learner_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/optim"
	"github.com/residua-go/residua/stream"
	"github.com/residua-go/residua/trainer/distributed"
	"github.com/residua-go/residua/trainer/learner"
)

// onRanks runs f on n ranks of this process at the same time.
func onRanks(t *testing.T, n int, o distributed.Options, f func(g *distributed.Group) error) {
	t.Helper()
	errs := make([]error, n)
	var all sync.WaitGroup
	for r, transport := range distributed.Memory(n) {
		all.Go(func() {
			g, err := distributed.New(transport, o)
			if err == nil {
				err = f(g)
			}
			if err == nil {
				err = g.Close()
			}
			errs[r] = err
		})
	}
	all.Wait()
	for r, err := range errs {
		require.NoError(t, err, "rank %d", r)
	}
}

// optimizers are the rules that ranks share in different ways.
func optimizers() map[string][]optim.Part {
	common := []optim.Part{optim.Clip(0.5), optim.Rate(2e-3, optim.Constant{}), optim.Decay(0.1, optim.Coupled, nil)}
	with := func(parts ...optim.Part) []optim.Part { return append(common[:len(common):len(common)], parts...) }
	return map[string][]optim.Part{
		"adamw": with(),
		"sgd":   with(optim.SGD()),
		"muon":  with(optim.Group(optim.Matrices, optim.Muon(0.95, optim.ScaleOriginal))),
	}
}

// training is what a test compares.
type training struct {
	gradients map[string][]float64 // of the first step
	losses    []float64
	weights   map[string][]float64
	moments   int // entries that the ranks keep, together
}

const rankSteps, microBatches = 20, 4

// emulatedSteps is the number of steps on emulated devices, which take a second each, unless long
// tests are enabled.
const emulatedSteps = 5

// train trains alone, or on n ranks; then each rank gives the entries that it owns.
func train(t *testing.T, n int, spec models.Spec, o learner.Options) training {
	t.Helper()
	o.Batch, o.Accumulate, o.Bucket, o.Compute.Threads = 2, microBatches, 300, 1
	if n == 1 {
		return trainOne(t, spec, o)
	}
	all := make([]training, n)
	onRanks(t, n, distributed.Options{}, func(g *distributed.Group) error {
		o := o
		o.Group = g
		all[g.Rank()] = trainOne(t, spec, o)
		return nil
	})
	whole := all[0]
	for r, other := range all[1:] {
		require.Equal(t, whole.losses, other.losses, "rank %d", r+1)
		require.Equal(t, whole.weights, other.weights, "rank %d", r+1)
		whole.moments += other.moments
		for name, g := range other.gradients {
			for i, x := range g {
				if !math.IsNaN(x) {
					require.True(t, math.IsNaN(whole.gradients[name][i]), "%s has two owners", name)
					whole.gradients[name][i] = x
				}
			}
		}
	}
	return whole
}

func trainOne(t *testing.T, spec models.Spec, o learner.Options) training {
	o.Compute.Seed = 3
	l, err := learner.New(spec, &random{}, o)
	require.NoError(t, err)
	defer l.Close()
	r := training{gradients: map[string][]float64{}}
	store := l.Program().Store()
	wake(t, store)
	loss, err := l.Gradient(t.Context())
	require.NoError(t, err)
	require.NoError(t, store.GradientsToHost())
	r.losses = append(r.losses, loss)
	for _, row := range l.Optimizer().Table() {
		r.gradients[row.Param.Name] = ownGradient(row)
	}
	_, err = l.Update()
	require.NoError(t, err)
	steps := rankSteps
	if o.Compute.Device.OnGPU() && !longtest.Enabled() {
		steps = emulatedSteps
	}
	require.NoError(t, l.Train(t.Context(), steps-1, func(s learner.Step) error {
		r.losses = append(r.losses, s.Loss)
		return nil
	}))
	for _, s := range l.Optimizer().State() {
		if s.Value != nil {
			r.moments += s.Value.DataSize()
		}
	}
	require.NoError(t, store.ToHost())
	r.weights = weights(store)
	return r
}

// ownGradient returns a parameter's gradient, NaN for the entries of other ranks.
func ownGradient(row optim.Row) []float64 {
	owned := make([]float32, row.Param.Size())
	for i := range owned {
		if i >= row.From && i < row.To {
			owned[i] = 1
		}
	}
	g := graph.Float64s(row.Param.Grad)
	for i, own := range row.Param.RowMajor(owned) {
		if own == 0 {
			g[i] = math.NaN()
		}
	}
	return g
}

// wake makes all parameters different from 0, so that all gradients are.
func wake(t *testing.T, s *graph.Store) {
	for _, p := range s.Params() {
		values := graph.Float64s(p.Value)
		for i := range values {
			values[i] += 0.1 * math.Sin(float64(i+len(p.Name)))
		}
		require.NoError(t, graph.SetFloat64s(p.Value, values))
	}
	require.NoError(t, s.ToDevice())
}

// distance is the norm of the difference over the norm of want.
func distance(t *testing.T, want, got map[string][]float64) float64 {
	difference, norm := 0.0, 0.0
	for name, w := range want {
		g := got[name]
		require.Len(t, g, len(w), name)
		for i := range w {
			difference += (w[i] - g[i]) * (w[i] - g[i])
			norm += w[i] * w[i]
		}
	}
	return math.Sqrt(difference / norm)
}

// compareRanks wants n ranks to train as one does, with the same bits each time.
func compareRanks(t *testing.T, n int, spec models.Spec, o learner.Options) {
	want, got := train(t, 1, spec, o), train(t, n, spec, o)
	require.Less(t, distance(t, want.gradients, got.gradients), 1e-6, "gradients of the first step")
	for i := range want.losses {
		require.InDelta(t, want.losses[i], got.losses[i], 1e-5, "loss of step %d", i+1)
	}
	require.Equal(t, want.moments, got.moments, "all moments are kept once")
	require.Equal(t, got, train(t, n, spec, o), "the same bits each time")
}

// fewRankModels are models with dropout, with experts and with shared parameters.
func fewRankModels(t *testing.T) map[string]models.Spec {
	return map[string]models.Spec{
		"dropout": small(t, nil),
		"experts": small(t, func(c *models.Config) { c.FeedForward = layers.MoEConfig{Hidden: 8, Experts: 4, TopK: 2} }),
		"looped": small(t, func(c *models.Config) {
			c.Stream, c.Attention.Heads = stream.MatrixConfig{Dk: 5, Dv: 4, Rank: 2}, 0
			c.Loops, c.LoopBegin, c.LoopEnd, c.TieEmbeddings = 2, 0, 2, true
		}),
	}
}

// rankModels are those, with long tests also one of every stream and feed-forward.
func rankModels(t *testing.T) map[string]models.Spec {
	all := fewRankModels(t)
	if !longtest.Enabled() {
		return all
	}
	for name, f := range map[string]layers.FeedForwardDesign{"swiglu": layers.SwiGLUConfig{Hidden: 12}, "relu": layers.ReLUConfig{Hidden: 12}, "relu2": layers.ReLU2Config{Hidden: 12}, "none": layers.NoFeedForward{}} {
		all[name] = small(t, func(c *models.Config) { c.FeedForward = f })
	}
	for _, p := range modeltest.Small(models.Standard()) {
		c := p.Config
		c.Vocab, c.Seq = vocab, seq
		all[p.Name] = modeltest.Resolve(t, c)
	}
	return all
}

// TestRanksTrainAsOne checks that 2 and 4 ranks train as one does: gradients, losses and weights,
// with dropout, clipping, experts and shared parameters. Few models train by each optimizer, the
// others by Muon alone; with RESIDUA_LONG_TESTS=all each trains by each.
func TestRanksTrainAsOne(t *testing.T) {
	few := fewRankModels(t)
	for name, spec := range rankModels(t) {
		for rule, parts := range optimizers() {
			for _, n := range []int{2, 4} {
				_, few := few[name]
				if chosen := few && n == 2 || rule == "muon" && n == 4; !chosen && !longtest.Exhaustive() {
					continue
				}
				t.Run(fmt.Sprintf("%s, %s, %d ranks", name, rule, n), func(t *testing.T) {
					compareRanks(t, n, spec, learner.Options{Optimizer: parts})
				})
			}
		}
	}
}

// TestRanksInFloat64 checks the same where rounding hides nothing.
func TestRanksInFloat64(t *testing.T) {
	o := learner.Options{Optimizer: optimizers()["muon"], Compute: graph.Options{DType: tensor.Float64}}
	want, got := train(t, 1, small(t, nil), o), train(t, 4, small(t, nil), o)
	require.Less(t, distance(t, want.gradients, got.gradients), 1e-14)
	require.Less(t, distance(t, want.weights, got.weights), 1e-10)
}

// TestRanksKeepTheirShareOfMoments checks that each rank of N keeps 1/N of AdamW's moments.
func TestRanksKeepTheirShareOfMoments(t *testing.T) {
	spec := small(t, nil)
	alone := open(t, spec, &random{}, learner.Options{})
	values := 4 * alone.Program().Store().Size()
	require.Equal(t, 4*values, alone.Program().Store().Bytes(), "values, gradients, two moments")
	onRanks(t, 4, distributed.Options{}, func(g *distributed.Group) error {
		l, err := learner.New(spec, &random{}, learner.Options{Group: g, Accumulate: 4, Compute: graph.Options{Threads: 1}})
		if err != nil {
			return err
		}
		defer l.Close()
		require.InDelta(t, 2*values+2*values/4, l.Program().Store().Bytes(), 16)
		return nil
	})
}

// TestReductionsBeginInTheBackwardPass checks that the first bucket is under way before the
// gradients of the last one are final, in one of some steps: on a busy machine the group's
// goroutine may have to wait. Each rank has two of Go's processors, as it would in a process of its
// own: with fewer, the goroutines that compute may keep the ones that send waiting to the end of a
// step.
func TestReductionsBeginInTheBackwardPass(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	var overlaps atomic.Int64
	onRanks(t, 2, distributed.Options{Trace: true}, func(g *distributed.Group) error {
		wide := small(t, func(c *models.Config) { c.Layers, c.Stream = 6, stream.VectorConfig{Vectors: stream.Vectors{D: 64}} })
		l, err := learner.New(wide, &random{}, learner.Options{
			Group: g, Batch: 64, Accumulate: 4, Bucket: 5000, Compute: graph.Options{Threads: 1}})
		if err != nil {
			return err
		}
		defer l.Close()
		if err := l.Train(t.Context(), 8, nil); err != nil {
			return err
		}
		var first, last distributed.Span
		buckets := len(l.Optimizer().Buckets())
		for _, s := range g.Trace() {
			switch s.What {
			case "gradients, bucket 0":
				first = s
			case fmt.Sprintf("gradients, bucket %d", buckets-1):
				if last = s; first.Begun.Before(last.Started) {
					overlaps.Add(1)
				}
			}
		}
		if buckets <= 5 {
			return errors.Errorf("want more than 5 buckets, got %d", buckets)
		}
		return nil
	})
	require.Positive(t, overlaps.Load(), "steps in which the first bucket was sent before the backward pass ended")
}

// TestRanksSkipTogether checks that a loss that is not finite on one rank makes all ranks skip the
// step.
func TestRanksSkipTogether(t *testing.T) {
	onRanks(t, 2, distributed.Options{}, func(g *distributed.Group) error {
		batches, draws := &random{}, 0
		var l *learner.Learner
		poison := learner.BatchFunc(func(tokens, targets []int32) error {
			draws++ // the other rank's are drawn, too
			gain := l.Program().Store().Param("norm").Value.Float32s()
			if g.Rank() == 1 && draws == 4 {
				gain[0] = float32(math.NaN())
			} else if draws == 5 {
				gain[0] = 1
			}
			return batches.Next(tokens, targets)
		})
		var err error
		if l, err = learner.New(small(t, nil), poison, learner.Options{Group: g, Accumulate: 2, Compute: graph.Options{Threads: 1}}); err != nil {
			return err
		}
		defer l.Close()
		var finite []bool
		err = l.Train(t.Context(), 3, func(s learner.Step) error {
			finite = append(finite, s.Finite)
			return nil
		})
		require.Equal(t, []bool{true, false, true}, finite, "rank %d", g.Rank())
		require.Equal(t, learner.Progress{Steps: 3, Updates: 2, Skipped: 1}, l.Progress())
		return err
	})
}

// TestRanksStopTogether checks that all ranks finish the step in which the context of one ends, and
// stop after it.
func TestRanksStopTogether(t *testing.T) {
	var params [2]map[string][]float64
	onRanks(t, 2, distributed.Options{}, func(g *distributed.Group) error {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		batches, draws := &random{}, 0
		stopping := learner.BatchFunc(func(tokens, targets []int32) error {
			if draws++; g.Rank() == 1 && draws == 6 {
				cancel()
			}
			return batches.Next(tokens, targets)
		})
		l, err := learner.New(small(t, nil), stopping, learner.Options{Group: g, Accumulate: 2, Compute: graph.Options{Threads: 1}})
		if err != nil {
			return err
		}
		defer l.Close()
		require.ErrorIs(t, l.Train(ctx, 10, nil), context.Canceled)
		require.Equal(t, 3, l.Progress().Steps, "rank %d", g.Rank())
		params[g.Rank()] = weights(l.Program().Store())
		return nil
	})
	require.Equal(t, params[0], params[1])
}

// TestSignal checks that what one rank signals is known to all, and alone too.
func TestSignal(t *testing.T) {
	signals := func(o learner.Options) (all []bool) {
		asked := 0
		o.Signal = func() bool {
			asked++
			return asked == 2 && (o.Group == nil || o.Group.Rank() == 1)
		}
		o.Accumulate, o.Compute.Threads = 2, 1
		l, err := learner.New(small(t, nil), &random{}, o)
		require.NoError(t, err)
		defer l.Close()
		require.NoError(t, l.Train(t.Context(), 3, func(s learner.Step) error {
			all = append(all, s.Signal)
			return nil
		}))
		return all
	}
	want := []bool{false, true, false}
	require.Equal(t, want, signals(learner.Options{}))
	onRanks(t, 2, distributed.Options{}, func(g *distributed.Group) error {
		require.Equal(t, want, signals(learner.Options{Group: g}))
		return nil
	})
}

// TestRanksCountExperts checks that the tokens of each expert are counted over all ranks.
func TestRanksCountExperts(t *testing.T) {
	spec := small(t, func(c *models.Config) { c.FeedForward = layers.MoEConfig{Hidden: 8, Experts: 4, TopK: 2} })
	o := learner.Options{Batch: 2, Accumulate: 4, Outputs: models.Outputs{ExpertCounts: true}, Compute: graph.Options{Threads: 1}}
	alone := open(t, spec, &random{}, o)
	_, err := alone.Gradient(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, alone.ExpertCounts())
	onRanks(t, 2, distributed.Options{}, func(g *distributed.Group) error {
		o := o
		o.Group = g
		l, err := learner.New(spec, &random{}, o)
		if err != nil {
			return err
		}
		defer l.Close()
		_, err = l.Gradient(t.Context())
		require.Equal(t, alone.ExpertCounts(), l.ExpertCounts())
		return err
	})
}

// TestRanksDivideAccumulate checks that micro-batches that cannot be shared equally are refused.
func TestRanksDivideAccumulate(t *testing.T) {
	onRanks(t, 2, distributed.Options{}, func(g *distributed.Group) error {
		_, err := learner.New(small(t, nil), &random{}, learner.Options{Group: g, Accumulate: 3})
		require.ErrorContains(t, err, "Accumulate: want a multiple of the 2 ranks")
		return nil
	})
}
