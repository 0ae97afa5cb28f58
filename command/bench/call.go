package bench

import (
	"flag"
	"math"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/experiment/bench"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/cli"
)

// maxRows bounds the rows of a step, and the tokens of a row.
const maxRows = 1 << 20

// check checks the flags.
func (c *call) check() error {
	for _, n := range []struct {
		flag               string
		value, least, most int
	}{{"-steps", c.steps, 1, math.MaxInt}, {"-rounds", c.rounds, 1, math.MaxInt}, {"-threads", c.threads, 0, graph.MaxThreads}, {"-batch", c.batch, 0, maxRows}, {"-seq", c.seq, 0, maxRows},
		{"-prompt", c.prompt, 1, maxRows}, {"-tokens", c.tokens, 1, maxRows}} {
		if err := cli.CheckInt(n.flag, n.value, n.least, n.most); err != nil {
			return err
		}
	}
	if c.from != "" {
		return c.checkFrom()
	}
	tables := 0
	for _, wanted := range []bool{c.stock, c.scaling, c.products, c.designs, c.generate} {
		if wanted {
			tables++
		}
	}
	switch {
	case tables > 1:
		return errors.New("want one of -stock, -threads-scaling, -gemm, -zoo and -generate, got several: call bench for each")
	case tables > 0 && c.svg != "":
		return errors.New("-svg: want it with the model table, got it with -stock, -threads-scaling, -gemm, -zoo or -generate: the picture is of the models")
	case c.designs && c.python != "":
		return errors.New("-pytorch: want it with the model table or -gemm, got it with -zoo: PyTorch's side has no such models")
	case c.generate && (c.batch != 0 || c.seq != 0):
		return errors.New("-batch, -seq: want them without -generate, whose texts are as long as -prompt and -tokens say")
	case !c.generate && (c.given("prompt") || c.given("tokens")):
		return errors.New("-prompt, -tokens: want them with -generate, got them without")
	case c.shapes != "" && !c.designs:
		return errors.New("-shapes: want it with -zoo, got it without")
	}
	return nil
}

// checkFrom refuses what says how to measure.
func (c *call) checkFrom() (err error) {
	c.set.Visit(func(f *flag.Flag) {
		if !slices.Contains([]string{"from", "svg", "json"}, f.Name) {
			err = errors.Errorf("-from: want it with -svg and -json alone, got it with -%s: nothing is measured", f.Name)
		}
	})
	return err
}

// target returns what the flags ask for.
func (c *call) target() (bench.Target, error) {
	t := bench.Target{Threads: c.threads, Device: graph.Device(c.device), Precision: graph.Precision(c.precision)}
	if err := cli.CheckDevice(t.Device, t.Precision); err != nil {
		return t, err
	}
	switch {
	case t.Device == graph.CPU && c.peak != 0:
		return t, errors.Errorf("-peak: want it with -device %s, got the device %s", graph.CUDA, t.Device)
	case t.Device == graph.CPU:
		t.Precision = ""
		return t, nil
	case c.stock || c.scaling || c.products || c.generate:
		return t, errors.Errorf("-device %s: want the model table or -zoo, got -stock, -threads-scaling, -gemm or -generate", t.Device)
	case t.Precision == "":
		t.Precision = graph.TF32
	}
	if c.peak < 0 {
		return t, errors.Errorf("-peak: want > 0 TFLOPS, got %g", c.peak)
	}
	return t, nil
}

// pytorch returns what -pytorch asks for, nil for nothing.
func (c *call) pytorch() (*bench.PyTorch, error) {
	if c.python == "" {
		return nil, nil
	}
	p := &bench.PyTorch{Python: string(c.python), Script: c.script, Modes: strings.Split(c.modes, ",")}
	for _, mode := range p.Modes {
		if !slices.Contains([]string{bench.Eager, bench.Compiled, bench.Padded}, mode) {
			return nil, errors.Errorf("-pytorch-modes: want some of %s, %s and %s with commas between, got %q", bench.Eager, bench.Compiled, bench.Padded, c.modes)
		}
	}
	return p, nil
}

// list are the names of a flag, none for "".
func list(names string) []string {
	if names == "" {
		return nil
	}
	return strings.Split(names, ",")
}

// workloads returns the models that the flags name.
func (c *call) workloads() ([]bench.Workload, error) {
	if c.generate {
		chosen, err := bench.ChooseGeneration(c.zoo, list(c.models), bench.Text{Prompt: c.prompt, Tokens: c.tokens})
		return chosen, errors.WithMessage(err, "-models")
	}
	choose := bench.Choose
	if c.stock {
		choose = bench.ChooseStock
	}
	chosen, err := choose(c.zoo, list(c.models), bench.Size{Batch: c.batch, Seq: c.seq})
	return chosen, errors.WithMessage(err, "-models")
}

// comparisons returns what -zoo is to compare.
func (c *call) comparisons() ([]bench.Comparison, error) {
	for _, name := range list(c.shapes) {
		if !slices.Contains(bench.ShapeNames(), name) {
			_, err := bench.Comparisons(c.zoo, []string{name}, nil, bench.Size{})
			return nil, errors.WithMessage(err, "-shapes")
		}
	}
	all, err := bench.Comparisons(c.zoo, list(c.shapes), list(c.models), bench.Size{Batch: c.batch, Seq: c.seq})
	return all, errors.WithMessage(err, "-models")
}
