package bench

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

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
	Python string `yaml:"pytorch" bare:"python3" help:"compare with PyTorch, run by python3 or by PYTHON as in -pytorch=<PYTHON>"`
	// nil: the default
	Modes  []string `yaml:"pytorch_modes" default:"eager,compile" split:"," choices:"eager, compile, compile-padded, eager-fp32, compile-fp32"`
	Script string   `yaml:"script" default:"experiment/bench/pytorch.py" help:"PyTorch's models are in <FILE>"`
}

// Help returns the help texts that are too long for tags, by key.
func (PyTorch) Help() map[string]string {
	return map[string]string{
		"pytorch_modes": "run PyTorch in these <MODES>; also compile-padded, with a vocabulary rounded up to a multiple of 64, and eager-fp32, " +
			"compile-fp32, in float32 whatever our precision is",
	}
}

func (p *PyTorch) modes() []string {
	if p.Modes == nil {
		return []string{Eager, Compiled}
	}
	return p.Modes
}

func (p *PyTorch) script() script { return script{p.Python, p.Script, "-script"} }

// Check returns an error if something is missing.
func (p *PyTorch) Check(ctx context.Context, on Target) error {
	if on.onGPU() {
		return p.script().check(ctx, "PyTorch", "-pytorch", "torch that finds the GPU", "import torch; torch.zeros(1, device='cuda')")
	}
	return p.script().check(ctx, "PyTorch", "-pytorch", "torch", "import torch")
}

// command returns the command that trains a job's model, or generates with it.
func (p *PyTorch) command(ctx context.Context, j job) *exec.Cmd {
	var args []string
	mode, float32s := strings.CutSuffix(j.Implementation, inFloat32)
	if float32s {
		j.Target.Precision = graph.FP32
	}
	if j.Target.onGPU() {
		args = append(args, "--device", string(j.Target.Device))
	}
	switch mode {
	case Compiled:
		args = append(args, "--compile")
	case Padded:
		args = append(args, "--compile", "--pad-vocab", fmt.Sprint(paddedTo))
	}
	return p.script().command(ctx, j, args...)
}

// startProducts starts the script's matrix products; the caller must open the worker.
func (p *PyTorch) startProducts(ctx context.Context, on Target) (*worker, error) {
	return startProcess("PyTorch's products", p.script().command(ctx, job{file: "gemm", Target: Target{Threads: on.Threads, Precision: on.Precision}}))
}
