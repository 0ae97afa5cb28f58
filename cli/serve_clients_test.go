package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/commandline/clitest"
)

// pythonWith is the interpreter that has a module: RESIDUA_PYTHON's, or that of the path.
func pythonWith(t *testing.T, module string) string {
	t.Helper()
	program := os.Getenv("RESIDUA_PYTHON")
	if program == "" {
		program = "python3"
	}
	if out, err := exec.Command(program, "-c", "import importlib.util, sys; sys.exit(importlib.util.find_spec('"+module+"') is None)").CombinedOutput(); err != nil {
		t.Skipf("wants Python with the module %s: %v %s", module, err, out)
	}
	return program
}

// TestOpenAIClient: OpenAI's own client finds what it expects.
func TestOpenAIClient(t *testing.T) {
	program := pythonWith(t, "openai")
	run := clitest.Train(t, "train.steps=60")
	url, stop := startServer(t, "-checkpoint", run.Dir, "-name", "tiny", "-token", "secret", "-threads", "1")
	out, err := exec.Command(program, "testdata/openai_client.py", url, "tiny", "secret").CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Logf("%s", out)
	code, stderr := stop()
	assert.Zero(t, code, stderr)
}

// evalScores are the fixture's: what lm-eval says of three tasks.
type evalScores struct {
	Source         string
	Results        map[string]map[string]float64
	LogLikelihoods map[string]json.RawMessage
}

// TestLMEval: lm-eval's client for completions gives, through HTTP, what lm-eval gave for the
// same model in PyTorch.
func TestLMEval(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	program := pythonWith(t, "lm_eval")
	const folder = "../testdata/reference/eval"
	url, _ := startServer(t, "-checkpoint", folder+"/model", "-slide")
	c := exec.Command(program, "testdata/lm_eval_client.py", url, "model", folder, "4")
	var messages strings.Builder
	c.Stderr = &messages
	out, err := c.Output()
	require.NoError(t, err, messages.String())
	var got, want evalScores
	require.NoError(t, json.Unmarshal(out, &got), "%s", out)
	expected, err := os.ReadFile(folder + "/expected.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(expected, &want))
	t.Logf("%s, expected from %s: %v", got.Source, want.Source, got.Results)
	for task, metrics := range want.Results {
		for metric, value := range metrics {
			assert.InEpsilon(t, value, got.Results[task][metric], 1e-6, "%s %s", task, metric)
		}
		assert.InEpsilonSlice(t, numbersIn(t, want.LogLikelihoods[task]), numbersIn(t, got.LogLikelihoods[task]), 1e-6, task)
	}
}

// numbersIn are those in nested arrays, a truth being 1 or 2.
func numbersIn(t *testing.T, text []byte) []float64 {
	var v any
	require.NoError(t, json.Unmarshal(text, &v))
	var all []float64
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, each := range v {
				walk(each)
			}
		case float64:
			all = append(all, v)
		case bool:
			all = append(all, map[bool]float64{false: 1, true: 2}[v])
		}
	}
	walk(v)
	return all
}
