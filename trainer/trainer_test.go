package trainer_test

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer"
)

func TestTrainWritesAWholeRun(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	var log bytes.Buffer
	r := train(t, tiny(t, corpus(t), out), trainer.Options{Report: trainer.NewLines(&log, 5)})
	require.Equal(t, 24, r.Steps)
	require.False(t, r.Interrupted)
	require.NotNil(t, r.Final)
	require.Len(t, losses(t, out), 24)
	for _, name := range []string{"config.yaml", "metrics.jsonl", "loss.svg", "latest.json", "best.json"} {
		require.FileExists(t, filepath.Join(out, name))
	}
	require.DirExists(t, r.Checkpoint)
	svg, err := os.ReadFile(filepath.Join(out, "loss.svg"))
	require.NoError(t, err)
	require.Contains(t, string(svg), "</svg>")
	require.Contains(t, log.String(), "step 5/24")
	require.Contains(t, log.String(), "validation loss")
	again, _, err := runconfig.Load(models.Standard(), filepath.Join(out, "config.yaml"), nil)
	require.NoError(t, err)
	require.Equal(t, tiny(t, again.Data.Path[0], out).Model, again.Model, "the resolved config describes the same run")
}

func TestTrainingLearns(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	tr, err := trainer.Open(context.Background(), tiny(t, corpus(t), out, "train.steps=120", "train.eval_every=60"), trainer.Options{})
	require.NoError(t, err)
	defer tr.Close()
	r, err := tr.Run(context.Background())
	require.NoError(t, err)
	require.Less(t, r.Final.Loss, 3.2, "from ln 257 = 5.55 nats")
	require.InDelta(t, math.Exp(r.Final.Loss), r.Final.Perplexity, 1e-9)
}

// TestAccumulate: a step of two micro-batches is the mean of their gradients (that N
// micro-batches are one batch to 1e-6 is tested in packages graph and optim).
func TestAccumulate(t *testing.T) {
	text := corpus(t)
	first := func(sets ...string) trainer.Metrics {
		var all []trainer.Metrics
		run := tiny(t, text, filepath.Join(t.TempDir(), "run"), append(sets, "model.dropout=0", "train.steps=2", "train.warmup=0", "train.lr=1e-30")...)
		train(t, run, trainer.Options{Report: &collector{into: &all}})
		require.Len(t, all, 2)
		return all[0]
	}
	one := first("train.accumulate=2")
	require.EqualValues(t, 2*4*16, one.Tokens)
	// At a rate of nothing, the two micro-batches of the first step are the batches of
	// the first two steps without accumulation.
	var all []trainer.Metrics
	run := tiny(t, text, filepath.Join(t.TempDir(), "run"), "model.dropout=0", "train.steps=2", "train.warmup=0", "train.lr=1e-30", "train.weight_decay=0")
	train(t, run, trainer.Options{Report: &collector{into: &all}})
	require.InEpsilon(t, float64(all[0].Loss+all[1].Loss)/2, float64(one.Loss), 1e-6)
	require.LessOrEqual(t, float64(one.GradNorm), float64(all[0].GradNorm+all[1].GradNorm)/2*(1+1e-6), "a mean's norm")
}

func TestInitFrom(t *testing.T) {
	text, first := corpus(t), filepath.Join(t.TempDir(), "first")
	train(t, tiny(t, text, first), trainer.Options{})
	tr, err := trainer.Open(context.Background(), tiny(t, text, filepath.Join(t.TempDir(), "second"), "train.init_from="+first), trainer.Options{})
	require.NoError(t, err)
	defer tr.Close()
	for _, want := range last(t, first).Model {
		require.Equal(t, want.Data, tr.Store().Param(want.Name).Value.Float32s(), want.Name)
		require.Zero(t, tr.Store().Param(want.Name).Moment1.Float32s()[0], "a fresh optimizer")
	}
}

// TestThreadsAndRecompute: recomputation changes no bit, and the same thread count gives
// the same bits.
func TestThreadsAndRecompute(t *testing.T) {
	text := corpus(t)
	runs := [][]string{nil, {"train.recompute=block"}, {"train.recompute=cheap"}, nil}
	var want []string
	for _, sets := range runs {
		out := filepath.Join(t.TempDir(), "run")
		train(t, tiny(t, text, out, sets...), trainer.Options{})
		if want == nil {
			want = losses(t, out)
		}
		require.Equal(t, want, losses(t, out), "%v", sets)
	}
}
