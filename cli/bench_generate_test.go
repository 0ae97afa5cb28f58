package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/commandline"
)

func TestBenchGenerate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "generation.json")
	got := callBench("generate", "-models", "quickstart,quickstart-transformer", "-batch", "2", "-prompt", "20", "-tokens", "3", "-steps", "2", "-rounds", "1", "-threads", "1", "-out", file)
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	assert.Regexp(t, `(?m)^quickstart +Residua +float32 +20 +\d+\.\d +\d+ +\d+% +2 +3 +\d+\.\d\d +\d`, got.Stdout)
	assert.Equal(t, got.Stdout, callBench("show", file).Stdout)
	require.Len(t, keptReport(t, file).Generation, 2)
}

// TestBenchGenerateWithoutTransformers: what cannot be compared is named, and the rest is measured.
func TestBenchGenerateWithoutTransformers(t *testing.T) {
	without := filepath.Join(t.TempDir(), "python")
	require.NoError(t, os.WriteFile(without, []byte("#!/bin/sh\ntest \"$2\" = 'import torch'\n"), 0o755))
	if err := exec.Command(without, "-c", "import torch").Run(); err != nil {
		t.Skip("no shell scripts here: ", err)
	}
	got := callBench("generate", "-models", "quickstart", "-prompt", "20", "-tokens", "3", "-steps", "1", "-rounds", "1", "-pytorch="+without, "-script", "../experiment/bench/pytorch.py")
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	assert.Contains(t, got.Stderr, "transformers is left out: "+without+" cannot import transformers")
	assert.Contains(t, got.Stdout, "quickstart")
}

// TestBenchGenerateWithoutLlamaCPP: a Python that lacks the package costs a line.
func TestBenchGenerateWithoutLlamaCPP(t *testing.T) {
	if err := exec.Command("false").Run(); err == nil || errors.Is(err, exec.ErrNotFound) {
		t.Skip("no program fails here")
	}
	got := callBench("generate", "-models", "quickstart", "-prompt", "20", "-tokens", "3", "-steps", "1", "-rounds", "1", "-llamacpp=false", "-llamacpp-script", "../experiment/bench/llamacpp.py")
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	assert.Contains(t, got.Stderr, "llama.cpp is left out: false cannot import xllamacpp (exit status 1 ): install it as docs/speed.md says")
	assert.Contains(t, got.Stdout, "quickstart")
}

func TestBenchGenerateRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		"unknown flag -prompt": {"models", "-prompt", "3"},
		"-llamacpp-script: want the script that runs llama.cpp, got \"nowhere.py\"": {"generate", "-llamacpp", "-llamacpp-script", "nowhere.py"},
		"unknown flag -seq":         {"generate", "-seq", "3"},
		"-tokens: want >= 1, got 0": {"generate", "-tokens", "0"},
		`-models: unknown model "rmt-134"; did you mean rmt-134m?`: {"generate", "-models", "rmt-134"},
	} {
		t.Run(want, func(t *testing.T) { callBench(args...).Refused(t, want) })
	}
}
