package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/models"
)

// byteGPT2 returns tinyGPT2 with ids for bytes.
func byteGPT2(t *testing.T) Workload {
	t.Helper()
	c := gpt2(2, 16, 64, 2)
	c.Vocab = byteVocab
	w, err := newGenerationWorkload(models.Preset{Name: "tiny", Config: c}, Text{Prompt: 20, Tokens: 3})
	require.NoError(t, err)
	return w
}

// imports returns a LlamaCPP whose Python, the program true, accepts every import.
func imports(t *testing.T) *LlamaCPP {
	t.Helper()
	l := &LlamaCPP{Python: "true", Script: "../../experiment/bench/llamacpp.py"}
	if err := exec.CommandContext(t.Context(), l.Python, "-c", "import xllamacpp").Run(); err != nil {
		t.Skip(err)
	}
	return l
}

// generating makes a worker that takes the given seconds, one number for each turn, to read a
// prompt, and a quarter of that to decode a token.
func generating(j job, parameters int, turns ...float64) (*worker, error) {
	return inProcess(j.title(), func(in io.Reader, out io.Writer) {
		answers := json.NewEncoder(out)
		_ = answers.Encode(reply{Facts: &facts{Parameters: parameters, Version: "llama.cpp 0", Threads: j.Target.Threads}})
		for _, seconds := range turns {
			_, _ = in.Read(make([]byte, 8))
			_ = answers.Encode(reply{Seconds: slices.Repeat([]float64{seconds}, 3), Tokens: slices.Repeat([]float64{seconds / 4}, 3)})
		}
	})
}

// TestLlamaCPP: each of its types is compared with our weights of the same kind, from files that
// hold the model and are removed at the end; the faster of its turns counts. If one fails, only its
// row is missing.
func TestLlamaCPP(t *testing.T) {
	var files []string
	b, saved := played(t, func(_ context.Context, j job) (*worker, error) {
		if j.Implementation == llamaCPP {
			files = append(files, j.file)
			if j.weights == "BF16" {
				return nil, errors.New("no such type")
			}
			content, err := os.ReadFile(j.file)
			require.NoError(t, err)
			require.Equal(t, "GGUF", string(content[:4]))
			return generating(j, byteGPT2(t).Spec.Cost().Parameters, 4, 2)
		}
		j, err := j.encoded()
		require.NoError(t, err)
		text, err := json.Marshal(j)
		require.NoError(t, err)
		return inProcess(j.title(), func(in io.Reader, out io.Writer) { runJob(models.Standard(), string(text), in, out) })
	})
	b.o.PyTorch, b.o.LlamaCPP = nil, imports(t)
	require.NoError(t, b.Generation(context.Background(), []Workload{byteGPT2(t)}))
	assert.EqualError(t, b.Report().Err(), "no such type")
	assert.Equal(t, "llama.cpp BF16 tiny", saved.Failures[0].Name)
	require.Len(t, files, 4)
	assert.NoFileExists(t, files[0])
	var rows []string
	for _, g := range saved.Generation {
		for _, p := range g.Peers {
			rows = append(rows, fmt.Sprintf("%s with %s", g.Weights, p.Weights))
			assert.Equal(t, 2.0, p.PrefillSeconds, "the faster turn")
			assert.InEpsilon(t, 0.5/g.Residua.TokenSeconds, p.DecodeSpeedup, 1e-9)
		}
	}
	assert.Equal(t, []string{" with F32", "bf16 with F16", "int8 with Q8_0"}, rows)
	assert.Contains(t, b.Report().generationTable().Note, "versions: llama.cpp 0, 1 threads")
}

// TestLlamaCPPIsLeftOut, with a warning, for models that it does not have and texts that are
// decoded together; another model is refused.
func TestLlamaCPPIsLeftOut(t *testing.T) {
	news := &notes{}
	b, saved := played(t, func(_ context.Context, j job) (*worker, error) {
		if j.Implementation == llamaCPP {
			return generating(j, 7, 4, 2)
		}
		return generating(j, 5, 4, 2)
	})
	b.o.PyTorch, b.o.LlamaCPP, b.o.Log = nil, imports(t), news
	rmt, err := ChooseGeneration(models.Standard(), []string{"quickstart"}, Text{Prompt: 20, Tokens: 3})
	require.NoError(t, err)
	require.NoError(t, b.Generation(context.Background(), append(rmt, tinyGPT2(t))))
	require.NoError(t, b.Report().Err())
	require.Len(t, news.warnings, 2)
	assert.Contains(t, news.warnings[0], "llama.cpp is left out of quickstart: gguf: want an architecture that llama.cpp has")
	assert.Contains(t, news.warnings[1], "llama.cpp is left out of tiny: gguf: want a model with a tokenizer")
	assert.Len(t, saved.Generation, 2)

	together := byteGPT2(t)
	together.Text.Batch = 2
	require.NoError(t, b.Generation(context.Background(), []Workload{together}))
	assert.Equal(t, "llama.cpp is left out: it is compared with one text at a time alone", news.warnings[2])

	require.NoError(t, b.Generation(context.Background(), []Workload{byteGPT2(t)}))
	assert.EqualError(t, b.Report().Err(), "4 measurements failed, first: llama.cpp F32 tiny: want 5 parameters as Residua's, got 7: it is another model")
}

// notes keeps the messages of a Bench.
type notes struct{ warnings []string }

func (n *notes) Note(string)         {}
func (n *notes) Warn(message string) { n.warnings = append(n.warnings, message) }
