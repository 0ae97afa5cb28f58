package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/experiment/bench"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/commandline/clitest"
	"github.com/residua-go/residua/models"
)

// fakePython, in the environment, makes the test program behave as a Python with torch
// that runs experiment/bench/pytorch.py; its value is the number of parameters to claim.
const fakePython = "RESIDUA_BENCH_FAKE_PYTHON"

// fakeDevice, in the environment, is the device's arguments that the fake Python wants.
const fakeDevice = "RESIDUA_BENCH_FAKE_DEVICE"

// fakeFailure, in the environment, is an argument with which the fake Python fails.
const fakeFailure = "RESIDUA_BENCH_FAKE_FAILURE"

// fakesPython tells whether the test program is to behave as a Python, and what it claims.
func fakesPython() (parameters string, fakes bool) {
	parameters, fakes = os.LookupEnv(fakePython)
	return parameters, fakes && len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test")
}

// playPython answers as the script does, with half a second a step or product.
func playPython(parameters string) int {
	if !slices.Contains(os.Args, "--serve") {
		return 0 // python -c "import torch"
	}
	if device := os.Getenv(fakeDevice); !strings.Contains(strings.Join(os.Args, " "), device) {
		fmt.Printf(`{"error": "want %s, got %s"}`+"\n", device, os.Args)
		return 1
	}
	if failing := os.Getenv(fakeFailure); failing != "" && slices.Contains(os.Args, failing) {
		fmt.Fprint(os.Stderr, "Traceback (most recent call last):\n  File \"pytorch.py\", line 1\nRuntimeError: no C++ compiler\n")
		return 3
	}
	fmt.Printf(`{"facts": {"parameters": %s, "version": "torch 0"}}`+"\n", parameters)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		n := 1
		_, _ = fmt.Sscanf(lines.Text(), "%d", &n)
		seconds := slices.Repeat([]float64{0.5}, min(n, 3))
		line, err := json.Marshal(map[string]any{"seconds": seconds, "loss": 1, "peak_bytes": 1 << 30})
		if err != nil {
			return 1
		}
		fmt.Println(string(line))
	}
	return 0
}

// callBench calls bench.
func callBench(args ...string) clitest.Outcome { return call(append([]string{"bench"}, args...)...) }

// benchTiny measures models on a batch of a few tokens.
func benchTiny(args ...string) clitest.Outcome { return benchTinyOf("models", args...) }

// benchTinyOf is a call of a command on a batch of a few tokens.
func benchTinyOf(command string, args ...string) clitest.Outcome {
	return callBench(append([]string{command, "-models", "byte-rmt,byte-transformer", "-batch", "1", "-seq", "8", "-steps", "2", "-rounds", "1", "-threads", "1"}, args...)...)
}

// TestBench: tables, file and picture have what was measured, and show shows it again.
func TestBench(t *testing.T) {
	file, picture, again := filepath.Join(t.TempDir(), "bench.json"), filepath.Join(t.TempDir(), "speed.svg"), filepath.Join(t.TempDir(), "again.svg")
	got := benchTiny("-out", file, "-svg", picture)
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	assert.Regexp(t, `^machine: 1 threads, peak \d+ GFLOPS`, got.Stdout)
	assert.Regexp(t, `(?m)^byte-rmt +1 x 8 +2\.25M +\d`, got.Stdout)
	assert.Regexp(t, `(?m)^byte-rmt +byte-transformer +\d`, got.Stdout)
	assert.Contains(t, got.Stderr, "byte-rmt and byte-transformer: round 1 of 1")
	checkBenchReport(t, keptReport(t, file))

	shown := callBench("show", file, "-svg", again)
	require.Equal(t, commandline.ExitOK, shown.Code, shown.Stderr)
	assert.Equal(t, got.Stdout, shown.Stdout)
	assert.Empty(t, shown.Stderr, "nothing is measured")
	first, err := os.ReadFile(picture)
	require.NoError(t, err)
	second, err := os.ReadFile(again)
	require.NoError(t, err)
	assert.Equal(t, string(first), string(second))
	assert.Contains(t, string(first), "byte-transformer")

	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(text), callBench("show", file, "-json").Stdout)
}

// checkBenchReport checks the numbers of the tiny call against one another.
func checkBenchReport(t *testing.T, r bench.Report) {
	require.Len(t, r.Models, 2)
	assert.Equal(t, 1, r.Machine.Threads)
	assert.Empty(t, r.Machine.Precision, "float32")
	assert.Empty(t, r.Machine.GPU)
	for _, m := range r.Models {
		assert.Equal(t, 2, m.Steps)
		assert.Positive(t, m.StepSeconds)
		assert.InEpsilon(t, float64(m.TrainFLOPs)*m.TokensPS, 1e9*m.GFLOPS, 1e-9)
		assert.InEpsilon(t, m.GFLOPS/r.Machine.PeakGFLOPS, m.Share, 1e-9)
		assert.Greater(t, m.Predicted, 16*m.Parameters)
		assert.Less(t, m.PeakBytes, 400<<20, "a process of its own")
	}
	require.Len(t, r.Sizes, 1)
	assert.InEpsilon(t, r.Models[1].TokensPS/r.Models[0].TokensPS, r.Sizes[0].Time, 1e-9)
}

func TestBenchComparedWithOthers(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	t.Setenv(fakePython, fmt.Sprint(oursParameters(t, "byte-rmt")))
	args := []string{"-models", "byte-rmt", "-pytorch=" + self, "-script", "../experiment/bench/pytorch.py", "-pytorch-modes", "eager,compile,compile-padded", "-json",
		"-jax=" + self, "-jax-script", "../experiment/bench/jax_xla.py"}
	got := benchTiny(args...)
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	var r bench.Report
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &r))
	require.Len(t, r.PyTorch, 1)
	require.Len(t, r.PyTorch[0].Baselines, 4)
	for i, mode := range []string{bench.Eager, bench.Compiled, bench.Padded, "jax"} {
		baseline := r.PyTorch[0].Baselines[i]
		assert.Equal(t, mode, baseline.Mode)
		assert.InEpsilon(t, 0.5/r.PyTorch[0].Residua.StepSeconds, baseline.Speedup, 1e-9)
	}
}

// oursParameters counts a workload's parameters as the tests' short rows have them.
func oursParameters(t *testing.T, name string) int {
	chosen, err := bench.Choose(models.Standard(), []string{name}, bench.Size{Seq: 8})
	require.NoError(t, err)
	return chosen[0].Spec.Cost().Parameters
}

func TestBenchRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		`-models: unknown model "rmt-46"; did you mean rmt-46m?`:            {"-models", "rmt-46"},
		"-models: unknown model \"\"":                                       {"-models", "rmt-46m,"},
		"-steps: want >= 1, got 0":                                          {"-steps", "0"},
		"-rounds: want >= 1, got -1":                                        {"-rounds", "-1"},
		"-threads: want >= 0, got -2":                                       {"-threads", "-2"},
		"unknown flag -svg":                                                 {"gemm", "-svg", "x.svg"},
		`unknown command "gmem"; did you mean gemm?`:                        {"gmem"},
		"-script: want the script that runs PyTorch":                        {"-pytorch", "-script", "nowhere.py"},
		"-jax-script: want the script that runs JAX":                        {"-jax", "-jax-script", "nowhere.py"},
		`-jax: want a Python with jax and optax, got "no-such-interpreter"`: {"-jax=no-such-interpreter", "-jax-script", "../experiment/bench/jax_xla.py"},
		`-pytorch: want a Python with torch, got "no-such-interpreter"`:     {"-pytorch=no-such-interpreter", "-script", "../experiment/bench/pytorch.py"},
		`-pytorch-modes: want one of eager, compile, compile-padded, eager-fp32, compile-fp32, got "jit"`: {"-pytorch", "-pytorch-modes", "jit"},
		"unknown flag -steps": {"show", "x.json", "-steps", "3"},
		"open nowhere.json":   {"show", "nowhere.json"},
		"cli.go: want the JSON object that bench -out writes": {"show", "cli.go"},
		"want a FILE that -out wrote, got nothing":            {"show"},
		`want one FILE, got "b.json", too`:                    {"show", "a.json", "b.json"},
		"unknown flag -pytroch; did you mean -pytorch?":       {"-pytroch"},
	} {
		t.Run(want, func(t *testing.T) { callBench(args...).Refused(t, want) })
	}
}

func TestBenchHelp(t *testing.T) {
	got := callBench("-h")
	assert.Equal(t, commandline.ExitOK, got.Code)
	assert.True(t, strings.HasPrefix(got.Stdout, "Example:\n  ours bench models\n"), got.Stdout)
	assert.Contains(t, callBench("models", "-h").Stdout, "(default "+strings.Join(bench.ModelNames(), ",")+")")
	assert.Contains(t, callBench("zoo", "-h").Stdout, "(default "+strings.Join(bench.ShapeNames(), ",")+")")
	assert.Contains(t, callBench("generate", "-h").Stdout, "(default "+bench.GPT2Name+")")
}
