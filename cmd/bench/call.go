package main

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/spelling"
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
	if err := c.checkSections(); err != nil || c.designs {
		return nil, err
	}
	choice := choose
	if c.stock {
		choice = chooseForStock
	}
	chosen, err := choice(c.zoo, c.models)
	if err != nil {
		return nil, err
	}
	for i, w := range chosen {
		if chosen[i], err = w.resized(c.batch, c.seq); err != nil {
			return nil, err
		}
	}
	return chosen, nil
}

// checkSections checks the flags that ask for something else than the model table.
func (c *call) checkSections() error {
	sections := 0
	for _, wanted := range []bool{c.stock, c.scaling, c.products, c.designs} {
		if wanted {
			sections++
		}
	}
	switch {
	case sections > 1:
		return errors.New("want one of -stock, -threads-scaling, -gemm and -zoo, got several: call bench for each")
	case sections > 0 && c.svg != "":
		return errors.New("-svg: want it with the model table, got it with -stock, -threads-scaling, -gemm or -zoo: the picture is of the models")
	case c.designs && c.python != "":
		return errors.New("-pytorch: want it with the model table or -gemm, got it with -zoo: PyTorch's side has no such models")
	case c.shapes != "" && !c.designs:
		return errors.New("-shapes: want it with -zoo, got it without")
	}
	return nil
}

// unknownName refuses a name in the list of a flag.
func unknownName(flag, what, name string, names []string) error {
	if near := spelling.Nearest(name, names); near != "" {
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
