// Package bench is the command that measures training speed on this machine: tokens a second, share of the
// machine's peak, memory, the RMT's time compared with the transformer's, and, side by side in
// one run, PyTorch and stock Gorgonia. With -generate it measures the speed of generation.
package bench

import (
	"flag"
	"strings"

	"github.com/residua-go/residua/experiment/bench"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

// Command measures models of a zoo. Its program calls bench.RunChild first, as package experiment/bench says.
func Command(zoo models.Zoo) cli.Command {
	c := call{zoo: zoo}
	return cli.Command{
		Name:    "bench",
		Summary: "measure the speed and memory of training, or of generation, compared with PyTorch and between models",
		Example: []string{
			"go run ./cmd/bench",
			"go run ./cmd/bench -models rmt-46m,transformer-49m -pytorch=python3 -svg bench.svg",
			"go run ./cmd/bench -zoo -shapes byte            # residual designs compared with the plain transformer",
			"go run ./cmd/bench -zoo -out docs/zoo.json      # the same at all shapes, kept as JSON",
			"go run ./cmd/bench -gemm -pytorch               # matrix products alone",
			"go run ./cmd/bench -generate -pytorch=python3   # reading a prompt and decoding, compared with Hugging Face's transformers",
			"go run ./cmd/bench -stock                       # compared with stock Gorgonia",
			"go run ./cmd/bench -threads-scaling -models rmt-46m",
			"go run ./cmd/bench -from docs/speed.json -svg docs/speed.svg   # show what was measured",
			"go run ./cmd/bench -device cuda -precision bf16 -batch 16 -pytorch=python3   # of a program built with -tags cuda",
		},
		Notes: []string{
			"Each model trains in a process of its own on random tokens. A step is a full one: forward, backward, clipping, AdamW; times",
			"are medians, after a warm-up. What is compared takes turns, so that a slow minute of the machine is a slow minute for all.",
			"\"% of peak GEMM\" is the FLOPS of a model's matrix products over those of one large matrix product, measured between the",
			"turns (on a GPU: over its data sheet's peak). -zoo, -gemm, -stock, -threads-scaling and -generate take the place of the table of models.",
			"Each table is printed when it has been measured; a model that fails, or an interrupt, costs no other row. Nothing else",
			"should run meanwhile.",
		},
		Flags: c.flags,
		Run:   c.run,
	}
}

// call is what the flags ask for.
type call struct {
	zoo                                     models.Zoo
	models, shapes, modes                   string
	script, svg, out, from                  string
	steps, rounds, threads, batch, seq      int
	device, precision                       string
	peak                                    float64 // TFLOPS
	prompt, tokens                          int
	json, stock, scaling, products, designs bool
	generate                                bool
	saved                                   bool // something into out
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
	flags.StringVar(&c.models, "models", "", "measure `A,B`, presets as the command models lists them; default: "+strings.Join(bench.ModelNames(), ", ")+" (byte-rmt is quickstart), with -zoo all residual designs")
	flags.IntVar(&c.batch, "batch", 0, "train on `N` rows a step; 0: each model's own number")
	flags.IntVar(&c.seq, "seq", 0, "train on rows of `N` tokens; 0: each model's own length")
	flags.IntVar(&c.steps, "steps", 5, "time `N` steps in a turn; with -zoo by default 1 at 162m")
	flags.IntVar(&c.rounds, "rounds", 3, "give each model `N` turns")
	flags.IntVar(&c.threads, "threads", 0, "compute with `N` threads; 0: all cores")
	flags.StringVar(&c.device, "device", string(graph.CPU), "train on `D`: cpu, cuda or, of several GPUs, cuda:1; so does PyTorch")
	flags.StringVar(&c.precision, "precision", "", "on cuda: compute in `P`: fp32, tf32 or bf16 (PyTorch: autocast); default tf32")
	flags.Float64Var(&c.peak, "peak", 0, "on cuda: the GPU's peak in `TFLOPS`; 0: its data sheet's, known for H100, H200 and A100")
	flags.Var(&c.python, "pytorch", "compare with PyTorch, run by python3 or by PYTHON as in -pytorch=PYTHON")
	flags.StringVar(&c.modes, "pytorch-modes", bench.Eager+","+bench.Compiled, "run PyTorch in these `MODES`; also "+bench.Padded+", with a vocabulary rounded up to a multiple of 64")
	flags.StringVar(&c.script, "script", "benchmarks/pytorch.py", "PyTorch's models are in `FILE`")
	flags.BoolVar(&c.designs, "zoo", false, "compare residual designs with the plain transformer of the same size")
	flags.StringVar(&c.shapes, "shapes", "", "with -zoo: measure at the sizes `A,B`; default: "+strings.Join(bench.ShapeNames(), ", "))
	flags.BoolVar(&c.stock, "stock", false, "compare a transformer (a small one unless -models names some) with the same one of stock Gorgonia nodes")
	flags.BoolVar(&c.scaling, "threads-scaling", false, "compare one thread with all")
	flags.BoolVar(&c.products, "gemm", false, "measure matrix products")
	flags.BoolVar(&c.generate, "generate", false, "measure how fast "+bench.GPT2Name+" (or the presets of -models), of random weights, reads a prompt and decodes greedily, on the CPU")
	flags.IntVar(&c.prompt, "prompt", 500, "with -generate: read a prompt of `N` tokens")
	flags.IntVar(&c.tokens, "tokens", 128, "with -generate: decode `N` tokens")
	flags.BoolVar(&c.json, "json", false, "print one JSON object instead of tables")
	flags.StringVar(&c.out, "out", "", "write the JSON object into `FILE`, anew after each row of a table")
	flags.StringVar(&c.svg, "svg", "", "draw the models' speed into `FILE`")
	flags.StringVar(&c.from, "from", "", "show what `FILE` has, which -out wrote, and measure nothing")
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
