package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph"
)

// The ways to run PyTorch: in our own precision or, by names that end in inFloat32, always in
// float32.
const (
	Eager     = "eager"
	Compiled  = "compile"
	Padded    = "compile-padded" // compiled, with a vocabulary rounded up to a multiple of paddedTo
	inFloat32 = "-fp32"
)

// paddedTo: sizes of matrices should be multiples of this number for a GPU's tensor cores, so
// PyTorch's users pad a vocabulary of 50257 tokens to 50304.
const paddedTo = 64

// PyTorch says how to run the PyTorch side of a comparison, experiment/bench/pytorch.py.
type PyTorch struct {
	Python string   `yaml:"pytorch" bare:"python3" help:"compare with PyTorch, run by python3 or by PYTHON as in -pytorch=<PYTHON>"`
	Modes  []string `yaml:"pytorch_modes" default:"eager,compile" split:"," choices:"eager, compile, compile-padded, eager-fp32, compile-fp32" help:"run PyTorch in these <MODES>; also compile-padded, with a vocabulary rounded up to a multiple of 64, and eager-fp32, compile-fp32, next to ours of another precision"` // nil: the default
	Script string   `yaml:"script" default:"experiment/bench/pytorch.py" help:"PyTorch's models are in <FILE>"`
}

func (p *PyTorch) modes() []string {
	if p.Modes == nil {
		return []string{Eager, Compiled}
	}
	return p.Modes
}

// Check returns an error if something is missing.
func (p *PyTorch) Check(ctx context.Context, on Target) error {
	if _, err := os.Stat(p.Script); err != nil {
		return errors.Errorf("-script: want the PyTorch script, got %q, which cannot be read: run from the repository's folder", p.Script)
	}
	test, what := "import torch", "torch"
	if on.onGPU() {
		test, what = "import torch; torch.zeros(1, device='cuda')", "torch that finds the GPU"
	}
	out, err := exec.CommandContext(ctx, p.Python, "-c", test).CombinedOutput()
	if err != nil {
		stderr := &tail{out}
		return errors.Errorf("-pytorch: want a Python with %s, got %q (%v %s): docs/benchmarks.md says how to install one", what, p.Python, err, stderr)
	}
	return nil
}

// train returns the command that trains a job's model, or generates with it.
func (p *PyTorch) train(ctx context.Context, j job) *exec.Cmd {
	args := []string{p.Script, string(j.Model), "--batch", fmt.Sprint(j.Batch), "--serve", "--threads", fmt.Sprint(j.Target.Threads), "--warm-up", fmt.Sprint(warmUpSteps)}
	mode, float32s := strings.CutSuffix(j.Implementation, inFloat32)
	if j.Target.onGPU() {
		args = append(args, "--device", string(j.Target.Device))
	}
	switch {
	case float32s:
		args = append(args, "--precision", string(graph.FP32))
	case j.Target.Precision != "":
		args = append(args, "--precision", string(j.Target.Precision))
	}
	switch mode {
	case Compiled:
		args = append(args, "--compile")
	case Padded:
		args = append(args, "--compile", "--pad-vocab", fmt.Sprint(paddedTo))
	}
	if j.Implementation == transformers {
		args = append(args, "--prompt", fmt.Sprint(j.Text.Prompt), "--tokens", fmt.Sprint(j.Text.Tokens), "--after", fmt.Sprint(decodeAfter))
	}
	return exec.CommandContext(ctx, p.Python, args...)
}

// startProducts starts the script's matrix products; the caller must open the worker.
func (p *PyTorch) startProducts(ctx context.Context, threads int) (*worker, error) {
	return startProcess("PyTorch's products", exec.CommandContext(ctx, p.Python, p.Script, "gemm", "--serve", "--threads", fmt.Sprint(threads)))
}
