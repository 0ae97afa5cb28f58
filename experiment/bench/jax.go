package bench

import (
	"context"
	"os/exec"

	"github.com/pkg/errors"
)

// JAX says how to run the JAX side of a comparison, experiment/bench/jax_xla.py.
type JAX struct {
	Python string `yaml:"jax" bare:"python3" help:"compare with JAX, compiled by XLA for the CPU, run by python3 or by PYTHON as in -jax=<PYTHON>"`
	Script string `yaml:"jax_script" default:"experiment/bench/jax_xla.py" help:"JAX's models are in <FILE>"`
}

func (p *JAX) script() script { return script{p.Python, p.Script, "-jax-script"} }

// Check returns an error if something is missing.
func (p *JAX) Check(ctx context.Context, on Target) error {
	if on.onGPU() {
		return errors.Errorf("-jax: want the device cpu, on which JAX is compared, got %s", on.Device)
	}
	return p.script().check(ctx, "JAX", "-jax", "jax and optax", "import jax, optax")
}

// command returns the command that trains a job's model.
func (p *JAX) command(ctx context.Context, j job) *exec.Cmd { return p.script().command(ctx, j) }
