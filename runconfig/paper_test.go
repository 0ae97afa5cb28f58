package runconfig

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/configs"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// paperRun is what a config in configs/paper describes.
type paperRun struct {
	preset string
	rows   int   // in a step
	steps  int   // 0: tokens are given
	tokens int64 // 0: steps are given
	stream int   // entries of a token's stream
	lr     float64
	muP    bool
}

// paperRuns returns the runs of the RMT paper: Tables 8 and 9, in which the largest runs have
// 46,000 steps of 256 rows and the others 20 tokens for each of their own parameters outside the
// tables (12 L D^2 and, with keys, 2 L R Dv FF); Table 10; and figure 6 over Dk, with 50,000 steps
// of 64 rows.
func paperRuns() map[string]paperRun {
	runs := map[string]paperRun{
		"table8-transformer-49m":  {"transformer-49m", 64, 0, 20 * 12 * 6 * 384 * 384, 384, 6.5e-3, true},
		"table8-transformer-162m": {"transformer-162m", 64, 0, 20 * 12 * 12 * 768 * 768, 768, 6.5e-3, true},
		"table8-transformer-264m": {"transformer-264m", 64, 0, 20 * 12 * 18 * 896 * 896, 896, 6.5e-3, true},
		"table8-transformer-405m": {"transformer-405m", 256, 46_000, 0, 1024, 6.5e-3, true},
		"table9-rmt-46m":          {"rmt-46m", 64, 0, 20 * 7_106_176, 1024, 1e-2, true},
		"table9-rmt-134m":         {"rmt-134m", 64, 0, 20 * 56_703_104, 2048, 1e-2, true},
		"table9-rmt-206m":         {"rmt-206m", 64, 0, 20 * 115_793_760, 3072, 1e-2, true},
		"table9-rmt-305m":         {"rmt-305m", 256, 46_000, 0, 4096, 1e-2, true},
	}
	for preset, size := range map[string]int{"transformer-162m": 768, "highway-191m": 768, "hieragg-165m": 768, "dwlstm-233m": 768, "rmt-134m-lecun": 2048} {
		runs["table10-"+preset] = paperRun{preset, 64, 50_000, 0, size, 1e-2, false}
	}
	for _, dk := range []int{6, 12, 24, 32, 48, 64} {
		runs[fmt.Sprintf("figure6-dk%d", dk)] = paperRun{"rmt-134m", 64, 50_000, 0, 64 * dk, 1e-2, true}
	}
	return runs
}

// TestPrintedTokens: the numbers of tokens for Tables 8 and 9 round to those that the paper prints.
func TestPrintedTokens(t *testing.T) {
	printed := map[string]string{
		"table8-transformer-49m": "212M", "table8-transformer-162m": "1.7B", "table8-transformer-264m": "3.5B", "table8-transformer-405m": "6.0B",
		"table9-rmt-46m": "142M", "table9-rmt-134m": "1.1B", "table9-rmt-206m": "2.3B", "table9-rmt-305m": "6.0B",
	}
	for name, want := range printed {
		run, _, err := Load(zoo, "paper/"+name, nil)
		require.NoError(t, err)
		tokens := float64(run.TotalSteps()) * float64(run.StepTokens())
		got := fmt.Sprintf("%.1fB", tokens/1e9)
		if tokens < 1e9 {
			got = fmt.Sprintf("%.0fM", tokens/1e6)
		}
		assert.Equal(t, want, got, name)
	}
}

// TestPaperConfigs: each run of the paper's tables has a config that states every field of the
// paper's recipe (section 4, appendix C) and leaves none to a default.
func TestPaperConfigs(t *testing.T) {
	t.Chdir(t.TempDir())
	runs := paperRuns()
	for _, name := range configs.Names() {
		stem, is := strings.CutPrefix(name, "paper/")
		if !is {
			continue
		}
		want, known := runs[stem]
		require.True(t, known, name)
		delete(runs, stem)
		run, where, err := Load(zoo, name, nil)
		require.NoError(t, err, name)
		assert.Equal(t, want.preset, run.Model.Preset, name)
		assert.Equal(t, want.stream, run.Spec().StreamSize(), name)
		assert.Equal(t, want.rows, run.Train.Batch*run.Train.Accumulate, name)
		assert.Equal(t, want.rows*512, run.StepTokens(), name)
		assert.Equal(t, want.tokens, run.Train.Tokens, name)
		if want.steps > 0 {
			assert.Equal(t, want.steps, run.TotalSteps(), name)
		}
		assert.Equal(t, want.lr, run.Train.LR, name)
		checkPaperModel(t, name, run.Model, want.muP)
		checkPaperTraining(t, name, run)
		for _, key := range paperKeys(want.muP) {
			assert.Contains(t, where.Of(key), "configs/"+name+".yaml:", "%s: want %s in the file", name, key)
		}
	}
	assert.Empty(t, runs, "configs that are missing")
}

// paperKeys lists the keys of the recipe.
func paperKeys(muP bool) []string {
	keys := []string{
		"model.seq", "model.norm", "model.norm_eps", "model.bias", "model.tie_embeddings", "model.init", "model.embedding_std",
		"model.attention.positions", "model.attention.inverse_layer_scaling", "data.path", "data.tokenizer",
		"train.schedule", "train.warmup", "train.min_lr", "train.weight_decay", "train.weight_decay_mode",
		"train.beta1", "train.beta2", "train.adam_eps", "train.clip", "train.z_loss", "train.eval_every",
	}
	if muP {
		keys = append(keys, "model.init_std", "model.mup.input_multiplier", "model.mup.output_multiplier", "model.mup.attn_multiplier", "model.mup.base.feedforward.hidden")
	}
	return keys
}

func checkPaperModel(t *testing.T, name string, m models.Config, muP bool) {
	assert.Equal(t, models.NormLayer, m.Norm, name)
	assert.Equal(t, 1e-6, m.NormEps, name)
	assert.False(t, m.Bias || m.TieEmbeddings, name)
	assert.Zero(t, m.Dropout, name)
	assert.Equal(t, models.PositionsLearned, m.Attention.Positions, name)
	assert.True(t, m.Attention.InverseLayerScaling, name)
	if !muP {
		assert.Equal(t, models.InitLeCunAll, m.Init, name)
		assert.Nil(t, m.MuP, name)
		return
	}
	assert.Equal(t, models.InitPaper, m.Init, name)
	require.NotNil(t, m.MuP, name)
	assert.Equal(t, 1024, m.MuP.Base.FeedForward.(layers.GELUConfig).Hidden, name)
	multipliers := [4]float64{m.MuP.InputMultiplier, m.MuP.OutputMultiplier, m.MuP.AttnMultiplier, m.InitStd}
	if base, is := m.MuP.Base.Stream.(stream.MatrixConfig); is { // the paper does not print the result of its search
		assert.Equal(t, [4]float64{1, 1, 1, 0.02}, multipliers, name)
		assert.Equal(t, [3]int{32, 32, 8}, [3]int{base.Dk, base.Dv, base.Rank}, name)
		return
	}
	assert.Equal(t, [4]float64{9.76, 5.52, 0.25, 0.15}, multipliers, name)
	assert.Equal(t, 256, m.MuP.Base.Stream.(stream.VectorConfig).D, name)
	assert.Equal(t, models.Attention{Heads: 8, HeadDim: 32}, models.Attention{Heads: m.MuP.Base.Attention.Heads, HeadDim: m.MuP.Base.Attention.HeadDim}, name)
}

func checkPaperTraining(t *testing.T, name string, run *Run) {
	x := run.Train
	assert.Equal(t, [2]string{"files", "gpt2"}, [2]string{run.Data.Source.Name(), run.Data.Tokenizer}, name)
	assert.Equal(t, [2]string{"warmup-cosine", "independent"}, [2]string{x.Schedule.Name(), x.WeightDecayMode}, name)
	assert.Equal(t, [4]float64{0.05, 1e-4, 1, 1e-4}, [4]float64{x.Warmup, x.WeightDecay, x.Clip, x.ZLoss}, name)
	assert.Equal(t, [3]float64{0.9, 0.95, 1e-8}, [3]float64{x.Beta1, x.Beta2, x.AdamEps}, name)
	assert.InDelta(t, x.LR/10, x.MinLR, 1e-12, name)
}
