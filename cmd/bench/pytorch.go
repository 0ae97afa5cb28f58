package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/models"
)

// The ways to run PyTorch's side.
const (
	eager    = "eager"
	compiled = "compile"
)

// pytorch says how to start the PyTorch script.
type pytorch struct{ python, script string }

// check tells early what is missing.
func (p pytorch) check(ctx context.Context, on target) error {
	if _, err := os.Stat(p.script); err != nil {
		return errors.Errorf("-script: want the PyTorch script, got %q, which cannot be read: run from the repository's folder", p.script)
	}
	test, what := "import torch", "torch"
	if on.onGPU() {
		test, what = "import torch; torch.zeros(1, device='cuda')", "torch that finds the GPU"
	}
	out, err := exec.CommandContext(ctx, p.python, "-c", test).CombinedOutput()
	if err != nil {
		return errors.Errorf("-pytorch: want a Python with %s, got %q (%v %s): benchmarks/README.md says how to install one", what, p.python, err, lastLine(out))
	}
	return nil
}

func lastLine(out []byte) string {
	t := tail{}
	_, _ = t.Write(out)
	return t.String()
}

// startModel starts the script on a workload.
func (p pytorch) startModel(ctx context.Context, w workload, mode string, on target, warmUp int) (*process, error) {
	args := append(modelArguments(w), "--serve", "--threads", fmt.Sprint(on.Threads), "--warm-up", fmt.Sprint(warmUp))
	if on.onGPU() {
		args = append(args, "--device", string(on.Device), "--precision", string(on.Precision))
	}
	if mode == compiled {
		args = append(args, "--compile")
	}
	return start("PyTorch "+mode+" "+w.Name, exec.CommandContext(ctx, p.python, append([]string{p.script}, args...)...))
}

// startGemm starts the script's matrix products.
func (p pytorch) startGemm(ctx context.Context, threads int) (*process, error) {
	return start("PyTorch gemm", exec.CommandContext(ctx, p.python, p.script, "gemm", "--serve", "--threads", fmt.Sprint(threads)))
}

// modelArguments describe a workload to the script.
func modelArguments(w workload) []string {
	c := w.Config
	name, sizes := "transformer", []any{"--width", c.DModel, "--heads", c.Heads}
	if c.Stream == models.StreamMatrix {
		name, sizes = "rmt", []any{"--dk", c.Dk, "--dv", c.Dv, "--rank", c.Rank}
	}
	args := []string{name}
	for _, v := range append(sizes, "--layers", c.Layers, "--ff", c.FF, "--vocab", c.Vocab, "--seq", c.Seq, "--batch", w.Batch, "--gelu", c.Gelu) {
		args = append(args, fmt.Sprint(v))
	}
	return args
}
