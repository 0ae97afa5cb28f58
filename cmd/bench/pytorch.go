package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"

	"github.com/pkg/errors"
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
	model, err := json.Marshal(w.Spec.Config)
	if err != nil {
		return nil, errors.WithStack(err)
	}
	args := []string{p.script, string(model), "--batch", fmt.Sprint(w.Batch), "--serve", "--threads", fmt.Sprint(on.Threads), "--warm-up", fmt.Sprint(warmUp)}
	if on.onGPU() {
		args = append(args, "--device", string(on.Device), "--precision", string(on.Precision))
	}
	if mode == compiled {
		args = append(args, "--compile")
	}
	return start("PyTorch "+mode+" "+w.Name, exec.CommandContext(ctx, p.python, args...))
}

// startGemm starts the script's matrix products.
func (p pytorch) startGemm(ctx context.Context, threads int) (*process, error) {
	return start("PyTorch gemm", exec.CommandContext(ctx, p.python, p.script, "gemm", "--serve", "--threads", fmt.Sprint(threads)))
}
