package main

import (
	"context"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/models"
)

// warmUpSteps are not timed: the first makes buffers, or compiles.
const warmUpSteps = 2

// workloads checks the flags and returns the models that they name.
func (c *call) workloads() ([]workload, error) {
	for _, n := range []struct {
		flag         string
		value, least int
	}{{"-steps", c.steps, 1}, {"-rounds", c.rounds, 1}, {"-threads", c.threads, 0}, {"-batch", c.batch, 0}, {"-seq", c.seq, 0}} {
		if n.value < n.least {
			return nil, errors.Errorf("%s: want >= %d, got %d", n.flag, n.least, n.value)
		}
	}
	sections := 0
	for _, wanted := range []bool{c.stock, c.scaling, c.products} {
		if wanted {
			sections++
		}
	}
	switch {
	case sections > 1:
		return nil, errors.New("want one of -stock, -threads-scaling and -gemm, got several: call bench for each")
	case sections > 0 && c.svg != "":
		return nil, errors.New("-svg: want it with the model table, got it with -stock, -threads-scaling or -gemm: the picture is of the models")
	}
	chosen, err := choose(c.models)
	if err != nil {
		return nil, err
	}
	if c.stock {
		if chosen, err = c.forStock(chosen); err != nil {
			return nil, err
		}
	}
	for i := range chosen {
		if c.batch > 0 {
			chosen[i].Batch = c.batch
		}
		if c.seq > 0 {
			chosen[i].Config.Seq = c.seq
		}
	}
	return chosen, nil
}

// forStock returns the workloads as stock Gorgonia trains them.
func (c *call) forStock(chosen []workload) ([]workload, error) {
	if c.models == "" {
		chosen = []workload{stockWorkload()}
	}
	for i, w := range chosen {
		if w.Config.Stream != models.StreamVector {
			return nil, errors.Errorf("-stock: want transformers, got %s: name some with -models", w.Name)
		}
		chosen[i].Config.ZLoss = 0 // the stock graph's would be a second pass over the logits
	}
	return chosen, nil
}

func unknownModel(name string, names []string) error {
	if near := config.Nearest(name, names); near != "" {
		return errors.Errorf("-models: unknown model %q; did you mean %s?", name, near)
	}
	return errors.Errorf("-models: unknown model %q; want some of %s", name, strings.Join(names, ", "))
}

// preparePyTorch checks what -pytorch asks for.
func (c *call) preparePyTorch(ctx context.Context, b *bench) error {
	if c.python == "" {
		return nil
	}
	b.modes = strings.Split(c.modes, ",")
	for _, mode := range b.modes {
		if !slices.Contains([]string{eager, compiled}, mode) {
			return errors.Errorf("-pytorch-modes: want %s, %s or both with a comma, got %q", eager, compiled, c.modes)
		}
	}
	b.torch = &pytorch{python: string(c.python), script: c.script}
	return b.torch.check(ctx)
}
