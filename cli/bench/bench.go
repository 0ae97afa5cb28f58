// Package bench holds the commands that measure training speed on this machine: tokens a second,
// share of the machine's peak, memory, the RMT's time compared with the transformer's, and, in the
// same run, PyTorch and JAX; and the speed of generation. Each measurement is a
// command of its own.
package bench

import (
	"context"

	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/models"
)

// Suite returns the commands that measure models of a zoo. A program that uses it must call
// bench.RunChild first, as package experiment/bench explains.
func Suite(zoo models.Zoo) commandline.Suite {
	return commandline.Suite{
		Name:    "bench",
		Summary: "measure the speed and memory of training, or of generation, compared with PyTorch, JAX and llama.cpp, and between models",
		Example: `
			bench models
			bench models -models rmt-46m,transformer-49m -pytorch=python3 -svg bench.svg
			bench models -pytorch=build/torch/bin/python -jax=build/jax/bin/python   # PyTorch and JAX in turns with ours
			bench models -precision bf16 -pytorch -pytorch-modes eager,compile,eager-fp32,compile-fp32
			bench models -device cuda -precision bf16 -batch 16 -pytorch   # of a program built with -tags cuda
			bench zoo -out experiment/bench/results/zoo.json      # residual designs compared with the plain transformer, kept as JSON
			bench generate -pytorch           # reading a prompt and decoding, compared with Hugging Face's transformers
			bench generate -llamacpp=build/llama/bin/python   # compared with llama.cpp, in float32, bf16 and int8
			bench show experiment/bench/results/zoo.json          # what was measured and kept`,
		Notes: `
			Without a command it measures models. Each model runs in a process of its own, on random tokens. A step is a full one: forward,
			backward, clipping, AdamW; times are medians, after a warm-up. What is compared takes turns, so that a slow minute of the machine
			is a slow minute for all: with -pytorch or -jax a model and the others' forms of it, else the models of a size. "% of peak GEMM" is the
			FLOPS of a model's matrix products over those of one large matrix product, measured between the turns (on a GPU: over its data
			sheet's peak). Each table is printed when it has been measured; a model that fails, or an interrupt, costs no other row.
			Nothing else should run meanwhile.`,
		Default: "models",
		Commands: []commandline.Command{
			command(&training{}, zoo, "models", "training speed and memory of models, compared with PyTorch's and JAX's", "-models quickstart -rounds 5"),
			command(&designs{}, zoo, "zoo", "residual designs compared with the plain transformer of the same size", "-shapes byte"),
			command(&products{}, zoo, "gemm", "matrix products alone", "-pytorch"),
			command(&generation{}, zoo, "generate", "how fast models of random weights read a prompt and decode greedily", "-pytorch=python3"),
			command(&show{}, zoo, "show", "a report that -out has saved", "experiment/bench/results/zoo.json"),
		},
	}
}

// measurer is implemented by the settings of each command.
type measurer interface {
	run(ctx context.Context, zoo models.Zoo, out commandline.Output) error
}

// command makes a command from its settings.
func command(m measurer, zoo models.Zoo, name, summary, arguments string) commandline.Command {
	return commandline.Command{
		Name: name, Summary: summary, Settings: m,
		Example: "bench " + name + " " + arguments,
		Run: func(ctx context.Context, out commandline.Output) error {
			return m.run(ctx, zoo, out)
		},
	}
}
