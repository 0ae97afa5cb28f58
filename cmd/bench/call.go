package main

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// maxRows bounds the rows of a step, and the tokens of a row.
const maxRows = 1 << 20

// warmUpSteps are not timed: the first makes buffers, or compiles.
const warmUpSteps = 2

// workloads checks the flags and returns the models that they name.
func (c *call) workloads() ([]workload, error) {
	for _, n := range []struct {
		flag               string
		value, least, most int
	}{{"-steps", c.steps, 1, math.MaxInt}, {"-rounds", c.rounds, 1, math.MaxInt}, {"-threads", c.threads, 0, graph.MaxThreads}, {"-batch", c.batch, 0, maxRows}, {"-seq", c.seq, 0, maxRows}} {
		switch {
		case n.value < n.least:
			return nil, errors.Errorf("%s: want >= %d, got %d", n.flag, n.least, n.value)
		case n.value > n.most:
			return nil, errors.Errorf("%s: want <= %d, got %d", n.flag, n.most, n.value)
		}
	}
	if err := c.checkSections(); err != nil || c.zoo {
		return nil, err
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
		chosen[i] = c.resized(chosen[i])
	}
	return chosen, nil
}

// checkSections checks the flags that ask for something else than the model table.
func (c *call) checkSections() error {
	sections := 0
	for _, wanted := range []bool{c.stock, c.scaling, c.products, c.zoo} {
		if wanted {
			sections++
		}
	}
	switch {
	case sections > 1:
		return errors.New("want one of -stock, -threads-scaling, -gemm and -zoo, got several: call bench for each")
	case sections > 0 && c.svg != "":
		return errors.New("-svg: want it with the model table, got it with -stock, -threads-scaling, -gemm or -zoo: the picture is of the models")
	case c.zoo && c.python != "":
		return errors.New("-pytorch: want it with the model table or -gemm, got it with -zoo: PyTorch's side has no such models")
	case c.shapes != "" && !c.zoo:
		return errors.New("-shapes: want it with -zoo, got it without")
	}
	return nil
}

// resized is a workload with the rows that -batch and -seq ask for.
func (c *call) resized(w workload) workload {
	if c.batch > 0 {
		w.Batch = c.batch
	}
	if c.seq > 0 {
		w.Config.Seq = c.seq
	}
	return w
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

// unknownName refuses a name in the list of a flag.
func unknownName(flag, what, name string, names []string) error {
	if near := config.Nearest(name, names); near != "" {
		return errors.Errorf("%s: unknown %s %q; did you mean %s?", flag, what, name, near)
	}
	return errors.Errorf("%s: unknown %s %q; want some of %s", flag, what, name, strings.Join(names, ", "))
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
	return b.torch.check(ctx, b.target)
}
