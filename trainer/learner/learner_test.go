package learner_test

import (
	"context"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/countdown"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/optim"
	"github.com/residua-go/residua/stream"
	"github.com/residua-go/residua/trainer/learner"
)

const rows, seq, vocab = 4, 8, 16

// small returns a transformer with dropout.
func small(t *testing.T, edit func(*models.Config)) models.Spec {
	t.Helper()
	c := models.Config{
		Stream: stream.VectorConfig{Vectors: stream.Vectors{D: 8}}, FeedForward: layers.GELUConfig{Hidden: 16},
		Attention: models.Attention{Heads: 2}, Layers: 2, Vocab: vocab, Seq: seq, Dropout: 0.1,
	}
	if edit != nil {
		edit(&c)
	}
	spec, err := c.Resolve()
	require.NoError(t, err)
	return spec
}

// random draws new tokens for each micro-batch, beginning at a position.
type random struct{ position uint64 }

func (r *random) Next(tokens, targets []int32) error {
	draw := rand.New(rand.NewPCG(1, r.position))
	r.position++
	for i := range tokens {
		tokens[i], targets[i] = int32(draw.IntN(vocab)), int32(draw.IntN(vocab))
	}
	return nil
}

func open(t *testing.T, spec models.Spec, b learner.Batches, o learner.Options) *learner.Learner {
	t.Helper()
	if o.Compute.Threads == 0 {
		o.Compute.Threads = 1
	}
	l, err := learner.New(spec, b, o)
	require.NoError(t, err)
	t.Cleanup(l.Close)
	return l
}

// weights copies the parameters.
func weights(s *graph.Store) map[string][]float64 {
	all := map[string][]float64{}
	for _, p := range s.Params() {
		all[p.Name] = graph.Float64s(p.Value)
	}
	return all
}

// TestMicroBatchesMakeTheStepOfTheirWhole: a step of two micro-batches equals a step of one batch
// with all their rows.
func TestMicroBatchesMakeTheStepOfTheirWhole(t *testing.T) {
	spec := small(t, func(c *models.Config) { c.Dropout = 0 })
	const n = rows * seq
	var tokens, targets [2 * n]int32
	require.NoError(t, (&random{}).Next(tokens[:], targets[:]))
	at := 0
	halves := func(t, u []int32) error {
		copy(t, tokens[at:])
		copy(u, targets[at:])
		at = (at + n) % (2 * n)
		return nil
	}
	o := learner.Options{Batch: 2 * rows, Compute: graph.Options{DType: tensor.Float64}}
	whole := open(t, spec, learner.Fixed(tokens[:], targets[:]), o)
	o.Batch, o.Accumulate = rows, 2
	micro := open(t, spec, learner.BatchFunc(halves), o)
	for range 3 {
		a, err := whole.Step(context.Background())
		require.NoError(t, err)
		b, err := micro.Step(context.Background())
		require.NoError(t, err)
		require.InDelta(t, a.Loss, b.Loss, 1e-12)
		require.InDelta(t, a.GradNorm, b.GradNorm, 1e-12)
	}
	for name, w := range weights(whole.Program().Store()) {
		require.InDeltaSlice(t, w, weights(micro.Program().Store())[name], 1e-9, name)
	}
}

// TestResume: with parameters and moments in a Store, the progress and the position of the batches,
// another Learner continues with the same bits, dropout included.
func TestResume(t *testing.T) {
	spec := small(t, nil)
	o := learner.Options{Batch: rows, Accumulate: 2, Compute: graph.Options{Seed: 3}}
	whole := open(t, spec, &random{}, o)
	require.NoError(t, whole.Train(context.Background(), 6, nil))

	o.Compute.Store = graph.NewStore(tensor.Float32, 3)
	batches := &random{}
	first := open(t, spec, batches, o)
	require.NoError(t, first.Train(context.Background(), 3, nil))
	require.Equal(t, learner.Progress{Steps: 3, Updates: 3}, first.Progress())
	second := open(t, spec, &random{position: batches.position}, o)
	second.Resume(first.Progress())
	require.NoError(t, second.Train(context.Background(), 3, nil))
	require.Equal(t, whole.Progress(), second.Progress())
	require.Equal(t, weights(whole.Program().Store()), weights(o.Compute.Store))
}

// TestMomentsAsPredicted: the optimizer keeps the moments that are predicted for its parts.
func TestMomentsAsPredicted(t *testing.T) {
	muon := optim.Group(optim.HiddenMatrices, optim.Muon(0.95, optim.ScaleOriginal))
	needs := map[int]bool{}
	for _, parts := range [][]optim.Part{nil, {muon}, {muon, optim.SGD()}} {
		l := open(t, small(t, nil), &random{}, learner.Options{Batch: rows, Optimizer: parts})
		need, err := models.PredictMemory(small(t, nil), rows, seq, models.Outputs{Loss: true}, graph.ProgramOptions{Gradients: true, Moments: optim.Moments(parts...)})
		require.NoError(t, err)
		store := l.Program().Store()
		require.Equal(t, store.Bytes()-2*4*store.Size(), need.Moments)
		needs[need.Moments] = true
	}
	require.Len(t, needs, 3)
}

// TestAStepThatIsNotFiniteChangesNothing: such a step is counted, and the next finite one updates.
func TestAStepThatIsNotFiniteChangesNothing(t *testing.T) {
	l := open(t, small(t, nil), &random{}, learner.Options{Batch: rows})
	store := l.Program().Store()
	w := store.Params()[0].Value.Float32s()
	good := append([]float32(nil), w...)
	for i := range w {
		w[i] = float32(math.NaN())
	}
	last := store.Params()[len(store.Params())-1]
	before := graph.Float64s(last.Value)
	for range 2 {
		s, err := l.Step(context.Background())
		require.NoError(t, err)
		require.False(t, s.Finite)
	}
	require.Equal(t, learner.Progress{Steps: 2, Skipped: 2, SkippedInRow: 2}, l.Progress())
	require.Equal(t, before, graph.Float64s(last.Value))
	copy(w, good)
	s, err := l.Step(context.Background())
	require.NoError(t, err)
	require.True(t, s.Finite)
	require.Equal(t, learner.Progress{Steps: 3, Updates: 1, Skipped: 2}, l.Progress())
	require.NotEqual(t, before, graph.Float64s(last.Value))
}

// TestExpertCounts: each token of each micro-batch is counted once for each expert it goes to.
func TestExpertCounts(t *testing.T) {
	spec := small(t, func(c *models.Config) { c.FeedForward = layers.MoEConfig{Hidden: 8, Experts: 4, TopK: 2} })
	l := open(t, spec, &random{}, learner.Options{Batch: rows, Accumulate: 3, Outputs: models.Outputs{ExpertCounts: true}})
	for range 2 {
		_, err := l.Step(context.Background())
		require.NoError(t, err)
		require.Len(t, l.ExpertCounts(), spec.Layers)
		for _, block := range l.ExpertCounts() {
			require.Len(t, block, 4)
			sum := 0
			for _, n := range block {
				sum += n
			}
			require.Equal(t, 3*rows*seq*2, sum)
		}
	}
}

// TestTrainEnds: training ends after its steps, with its context, and with an error of the function
// that watches it.
func TestTrainEnds(t *testing.T) {
	l := open(t, small(t, nil), &random{}, learner.Options{Batch: rows})
	ctx, cancel := context.WithCancel(context.Background())
	require.NoError(t, l.Train(ctx, 2, nil))
	require.ErrorIs(t, l.Train(ctx, 5, func(s learner.Step) error {
		if s.N == 4 {
			return io.EOF
		}
		return nil
	}), io.EOF)
	cancel()
	require.ErrorIs(t, l.Train(ctx, 5, nil), context.Canceled)
	require.Equal(t, 4, l.Progress().Steps)
}

// TestProfile: only the steps chosen for profiling are timed.
func TestProfile(t *testing.T) {
	l := open(t, small(t, nil), &random{}, learner.Options{Batch: rows})
	step := func() {
		_, err := l.Step(context.Background())
		require.NoError(t, err)
	}
	step()
	require.Zero(t, l.Times())
	l.Profile(true)
	step()
	step()
	l.Profile(false)
	step()
	times := l.Times()
	require.Equal(t, 2, times.Steps)
	require.Positive(t, times.Optimizer)
	require.Less(t, times.Optimizer+times.Data, times.Step)
	require.NotEmpty(t, l.Program().Profile())
}

// TestWrongUse: wrong use gives an error that says what is wanted.
func TestWrongUse(t *testing.T) {
	spec := small(t, nil)
	_, err := learner.New(spec, nil, learner.Options{})
	require.EqualError(t, err, "learner: want batches, got nil: a data.Batcher, Fixed or a BatchFunc fills them")
	_, err = learner.New(spec, &random{}, learner.Options{Batch: -1})
	require.Error(t, err)
	_, err = learner.New(spec, &random{}, learner.Options{Optimizer: []optim.Part{optim.Clip(-1)}})
	require.Error(t, err)

	l := open(t, spec, learner.Fixed(make([]int32, 3), make([]int32, 3)), learner.Options{})
	_, err = l.Update()
	require.Error(t, err, "without a gradient")
	_, err = l.Step(context.Background())
	require.EqualError(t, err, "learner: fixed batch: want 8 tokens and targets, rows x seq, got 3 and 3")
	require.Zero(t, l.Progress())
}

// TestAContextEndsAGradient: a context ends a gradient between two ops of any micro-batch. Nothing
// has changed then, and once the batches are set back, the step has the same bits as without the
// interruption.
func TestAContextEndsAGradient(t *testing.T) {
	const accumulate = 4
	batches := &random{}
	o := learner.Options{Batch: rows, Accumulate: accumulate, Optimizer: []optim.Part{optim.Rate(0.1, optim.Constant{})}}
	whole := open(t, small(t, nil), &random{}, o)
	l := open(t, small(t, nil), batches, o)
	ctx := countdown.New(1 << 20)
	want, err := whole.Step(ctx)
	require.NoError(t, err)
	asked := 1<<20 - ctx.Left
	before := l.Program().Store().Params()[0].Value.Clone()
	for _, at := range []int{0, 1, asked / 3, asked / 2, asked - 1} {
		batches.position, ctx.Left = 0, at
		_, err := l.Step(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, -1, ctx.Left, "nothing goes on after that")
		require.LessOrEqual(t, batches.position, uint64(accumulate*at/asked+1))
		require.Zero(t, l.Progress())
		require.Equal(t, before, l.Program().Store().Params()[0].Value.Clone())
	}
	batches.position = 0
	got, err := l.Step(context.Background())
	require.NoError(t, err)
	require.Equal(t, want, got)
	for i, p := range l.Program().Store().Params() {
		require.Equal(t, whole.Program().Store().Params()[i].Value.Data(), p.Value.Data(), p.Name)
	}
}

// precisionRule records the precision of its steps.
type precisionRule struct{ got graph.Precision }

func (*precisionRule) String() string                        { return "precision" }
func (*precisionRule) State() []string                       { return nil }
func (*precisionRule) Open([]*optim.Row) error               { return nil }
func (*precisionRule) WidthDivisor(float64) (float64, error) { return 1, nil }
func (r *precisionRule) Update(_ []*optim.Row, n optim.Now)  { r.got = n.Precision }

// TestPrecisionOfRules: rules are told the precision in which the model computes.
func TestPrecisionOfRules(t *testing.T) {
	for _, p := range []graph.Precision{graph.FP32, graph.BF16} {
		rule := &precisionRule{}
		l := open(t, small(t, nil), &random{}, learner.Options{Compute: graph.Options{Precision: p}, Optimizer: []optim.Part{optim.Use(rule)}})
		_, err := l.Step(t.Context())
		require.NoError(t, err)
		require.Equal(t, p, rule.got)
	}
}
