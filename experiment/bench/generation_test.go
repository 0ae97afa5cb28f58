package bench

import (
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// tinyGPT2 returns a small model that transformers has, too, and a text of 20 and 3 tokens.
func tinyGPT2(t *testing.T) Workload {
	t.Helper()
	c := gpt2(2, 16, 64, 2)
	c.Vocab = 30
	w, err := newGenerationWorkload(models.Preset{Name: "tiny", Config: c}, Text{Prompt: 20, Tokens: 3})
	require.NoError(t, err)
	return w
}

// TestChooseGeneration: the shape of GPT-2 is the published one, and the window has room for the
// text.
func TestChooseGeneration(t *testing.T) {
	chosen, err := ChooseGeneration(models.Standard(), nil, Text{Prompt: 500, Tokens: 128})
	require.NoError(t, err)
	require.Len(t, chosen, 1)
	assert.Equal(t, GPT2Name, chosen[0].Name)
	assert.Equal(t, 124439808, chosen[0].Spec.Cost().Parameters)
	assert.True(t, isGPT2(chosen[0].Spec))
	chosen, err = ChooseGeneration(models.Standard(), []string{"rmt-134m", "transformer-162m"}, Text{Prompt: 4, Tokens: 600})
	require.NoError(t, err)
	for _, w := range chosen {
		assert.Equal(t, 617, w.Spec.Seq)
		assert.False(t, isGPT2(w.Spec))
	}
	_, err = ChooseGeneration(models.Standard(), []string{"rmt-134"}, Text{})
	assert.ErrorContains(t, err, "rmt-134m")
}

// TestPrefillFLOPs: they equal those of the ops in a program that reads the prompt.
func TestPrefillFLOPs(t *testing.T) {
	w := tinyGPT2(t)
	o := graph.ProgramOptions{Options: graph.Options{Store: graph.NewStore(tensor.Float32, 1), Threads: 1}}
	p, err := models.Compile(w.Spec, 1, w.Text.Prompt, models.Outputs{Logits: true, LogitsAt: 1}, o)
	require.NoError(t, err)
	defer p.Close()
	require.NoError(t, p.Run(graph.RunOptions{Profile: true}))
	flops := 0
	for _, row := range p.Profile() {
		flops += row.FLOPs
	}
	assert.Equal(t, float64(flops), w.prefillFLOPs())
}

// TestGeneration: both sides take turns; only a model that transformers has is compared.
func TestGeneration(t *testing.T) {
	start := func(_ context.Context, j job) (*worker, error) {
		if j.Implementation == transformers {
			return inProcess(j.title(), func(in io.Reader, out io.Writer) {
				answers := json.NewEncoder(out)
				_ = answers.Encode(reply{Facts: &facts{Parameters: tinyGPT2(t).Spec.Cost().Parameters, Version: "transformers 0", Threads: 3}})
				for range 2 {
					_, _ = in.Read(make([]byte, 8))
					_ = answers.Encode(reply{Seconds: []float64{2, 2, 2}, Tokens: []float64{0.5, 0.5, 0.5}})
				}
			})
		}
		j, err := j.encoded()
		require.NoError(t, err)
		text, err := json.Marshal(j)
		require.NoError(t, err)
		return inProcess(j.title(), func(in io.Reader, out io.Writer) { runJob(models.Standard(), string(text), in, out) })
	}
	b, saved := played(t, start)
	b.o.PyTorch.Python = "true" // it accepts every import
	if _, err := exec.LookPath(b.o.PyTorch.Python); err != nil {
		t.Skip(err)
	}
	other, err := ChooseGeneration(models.Standard(), []string{"quickstart"}, Text{Prompt: 20, Tokens: 3})
	require.NoError(t, err)
	require.NoError(t, b.Generation(context.Background(), append(other, tinyGPT2(t))))
	require.NoError(t, b.Report().Err())
	require.Len(t, saved.Generation, 2)
	alone, r := saved.Generation[0], saved.Generation[1]
	assert.Empty(t, alone.Peers)
	assert.Positive(t, alone.Residua.TokensPS)
	require.Len(t, r.Peers, 1)
	assert.Equal(t, 10.0, r.Peers[0].PrefillTokensPS)
	assert.Equal(t, 2.0, r.Peers[0].TokensPS)
	assert.InEpsilon(t, 2/r.Residua.PrefillSeconds, r.Peers[0].PrefillSpeedup, 1e-9)
	assert.InEpsilon(t, 0.5*r.Residua.TokensPS, r.Peers[0].DecodeSpeedup, 1e-9)
	assert.InEpsilon(t, r.Residua.PrefillGFLOPS, r.Residua.PrefillShare, 1e-9, "of a peak of 1 GFLOPS")
	table := b.Report().generationTable()
	assert.Contains(t, table.Note, "versions: transformers 0, 3 threads")
	assert.Equal(t, []string{"", "transformers", "float32", "20", "2000.0", "10"}, table.Rows[2][:6])
}

// TestGenerationResultsOfFailures: a job of ours that failed costs the peers' jobs that follow it,
// and no others.
func TestGenerationResultsOfFailures(t *testing.T) {
	ended := func(failed bool) *worker {
		w := fake(1, 1, 2)
		w.tokenSeconds, w.failed = []float64{1}, failed
		return w
	}
	ours, peers := job{}, job{peer: &PyTorch{}, Implementation: "other"}
	jobs := []job{ours, peers, ours, peers, ours, peers, peers}
	chosen, err := ChooseGeneration(models.Standard(), []string{"quickstart"}, Text{Prompt: 1, Tokens: 1})
	require.NoError(t, err)
	results := newGenerationResults(chosen[0], jobs, []*worker{ended(false), ended(false), ended(true), ended(false), ended(false), ended(true), ended(false)})
	require.Len(t, results, 2)
	assert.Len(t, results[0].Peers, 1)
	assert.Len(t, results[1].Peers, 1)
}
