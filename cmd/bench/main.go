// Command bench measures training speed on this machine: tokens a second, share of the
// machine's peak, memory, the RMT's time compared with the transformer's, and, side by side in
// one run, PyTorch and stock Gorgonia.
package main

import (
	"context"
	"flag"
	"io"
	"os"
	"strings"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

func main() {
	if text, child := os.LookupEnv(childVariable); child {
		os.Exit(serve(models.Standard(), text, os.Stdin, os.Stdout))
	}
	os.Exit(cli.Main(command(models.Standard()), os.Args[1:], os.Stdout, os.Stderr))
}

// command measures models of a zoo.
func command(zoo models.Zoo) cli.Command {
	c := call{zoo: zoo}
	return cli.Command{
		Name:    "bench",
		Summary: "measure training speed: tokens/s, share of the machine's peak, memory, RMT against transformer",
		Example: []string{
			"go run ./cmd/bench",
			"go run ./cmd/bench -models rmt-46m,transformer-49m -pytorch=python3 -svg bench.svg",
			"go run ./cmd/bench -gemm -pytorch      # matrix products alone",
			"go run ./cmd/bench -stock              # against stock Gorgonia",
			"go run ./cmd/bench -threads-scaling -models rmt-46m",
			"go run ./cmd/bench -zoo -shapes byte   # residual designs against the plain transformer",
			"go run ./cmd/bench -zoo -out docs/zoo.json",
			"go run -tags cuda ./cmd/bench -device cuda -precision bf16 -models rmt-134m,transformer-162m -batch 16 -pytorch=python3",
		},
		Notes: []string{
			"Each model trains in a process of its own on random tokens: full steps with clipping and AdamW, the median after a",
			"warm-up. Those that are compared take turns, so that a slow minute of the machine is a slow minute for all.",
			"The machine's peak is that of our matrix product, measured between the turns, a GPU's that of its data sheet.",
			"Nothing else should run meanwhile.",
		},
		Flags: c.flags,
		Run:   c.run,
	}
}

// call is what the flags ask for.
type call struct {
	zoo                                     models.Zoo
	models, shapes, script, modes, svg, out string
	steps, rounds, threads                  int
	batch, seq                              int
	device, precision                       string
	peak                                    float64 // TFLOPS
	json, stock, scaling, products, designs bool
	python                                  interpreter
	set                                     *flag.FlagSet
}

// given tells whether a flag was named in the call.
func (c *call) given(name string) bool {
	found := false
	c.set.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

func (c *call) flags(flags *flag.FlagSet) {
	c.set = flags
	flags.StringVar(&c.models, "models", "", "measure the models `A,B` instead of all: "+strings.Join(namesOf(measuredModels(), measuredName), ", ")+"; also any other preset; with -zoo: "+strings.Join(zooNames(c.zoo, zooShapes()), ", "))
	flags.IntVar(&c.batch, "batch", 0, "train on `N` rows a step; 0: each model's own number")
	flags.IntVar(&c.seq, "seq", 0, "train on rows of `N` tokens; 0: each model's own length")
	flags.IntVar(&c.steps, "steps", 5, "time `N` steps in a turn; with -zoo by default 1 at 162m")
	flags.IntVar(&c.rounds, "rounds", 3, "give each `N` turns")
	flags.IntVar(&c.threads, "threads", 0, "compute with `N` workers; 0: all cores")
	flags.StringVar(&c.device, "device", string(graph.CPU), "train on `D`: cpu or cuda, PyTorch too")
	flags.StringVar(&c.precision, "precision", "", "on cuda: compute in `P`: fp32, tf32 or bf16 (PyTorch: autocast); default tf32")
	flags.Float64Var(&c.peak, "peak", 0, "on cuda: the GPU's peak is `TFLOPS`; 0: that of the data sheet, known of H100, H200 and A100")
	flags.BoolVar(&c.json, "json", false, "write one JSON object")
	flags.Var(&c.python, "pytorch", "compare with PyTorch, run by python3 or by PYTHON as in -pytorch=PYTHON")
	flags.StringVar(&c.modes, "pytorch-modes", eager+","+compiled, "run PyTorch in these `MODES`")
	flags.StringVar(&c.script, "script", "benchmarks/pytorch.py", "the PyTorch side is `FILE`")
	flags.BoolVar(&c.stock, "stock", false, "compare transformers, a small one unless -models names some, with the same of stock Gorgonia nodes; no model table")
	flags.BoolVar(&c.scaling, "threads-scaling", false, "compare one thread with all; no model table")
	flags.BoolVar(&c.products, "gemm", false, "measure matrix products; no model table")
	flags.BoolVar(&c.designs, "zoo", false, "compare residual designs with the plain transformer of the same shape; no model table")
	flags.StringVar(&c.shapes, "shapes", "", "with -zoo, measure at the shapes `A,B` instead of all: byte, 162m")
	flags.StringVar(&c.out, "out", "", "write the JSON object into `FILE` too")
	flags.StringVar(&c.svg, "svg", "", "draw the models' speed into `FILE`")
}

// interpreter is the optional value of -pytorch.
type interpreter string

func (i *interpreter) String() string { return string(*i) }

// IsBoolFlag lets -pytorch stand alone.
func (i *interpreter) IsBoolFlag() bool { return true }

// Set takes a Python, or the bare flag.
func (i *interpreter) Set(value string) error {
	switch value {
	case "true":
		value = "python3"
	case "false":
		value = ""
	}
	*i = interpreter(value)
	return nil
}

func (c *call) run(ctx context.Context, out cli.Output) error {
	chosen, err := c.workloads()
	if err != nil {
		return cli.Usage(err)
	}
	var groups []zooGroup
	if c.designs {
		if groups, err = c.zooGroups(); err != nil {
			return cli.Usage(err)
		}
	}
	on, err := c.target()
	if err != nil {
		return cli.Usage(err)
	}
	b := &bench{target: on, schedule: schedule{rounds: c.rounds, steps: c.steps, warmUp: warmUpSteps}, out: out}
	if err := c.preparePyTorch(ctx, b); err != nil {
		return cli.Usage(err)
	}
	if b.machine, err = newMachine(on, c.peak); err != nil {
		return cli.Usage(err)
	}
	defer b.machine.close()
	cli.WarnDevice(out, on.Device)
	b.target.Threads = b.machine.Threads
	r := &report{Machine: b.machine}
	if err := c.measure(ctx, b, chosen, groups, r); err != nil {
		return err
	}
	if err := c.writeFiles(r); err != nil {
		return err
	}
	if c.json {
		return out.PrintJSON(r)
	}
	return out.Print(r.String())
}

// writeFiles writes the picture and the JSON object into the files that were asked for.
func (c *call) writeFiles(r *report) error {
	if c.svg != "" {
		if err := checkpoint.WriteFileAtomic(c.svg, speedChart(r).Write); err != nil {
			return err
		}
	}
	if c.out == "" {
		return nil
	}
	return checkpoint.WriteFileAtomic(c.out, func(w io.Writer) error { return cli.Output{Stdout: w}.PrintJSON(r) })
}

// measure fills the sections of a report.
func (c *call) measure(ctx context.Context, b *bench, chosen []workload, groups []zooGroup, r *report) (err error) {
	switch {
	case c.products:
		r.Gemm, err = b.gemm(ctx)
		return err
	case c.stock:
		r.Stock, err = b.stock(ctx, chosen)
		return err
	case c.designs:
		r.Zoo, err = b.zoo(ctx, groups)
		return err
	case c.scaling:
		r.Scaling, err = b.scaling(ctx, chosen)
		return err
	}
	if r.Models, err = b.models(ctx, chosen); err != nil {
		return err
	}
	r.Sizes = compareSizes(chosen, r.Models)
	if b.torch != nil {
		r.PyTorch, err = b.pytorch(ctx, chosen)
	}
	return err
}
