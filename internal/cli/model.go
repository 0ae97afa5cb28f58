package cli

import (
	"flag"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
)

// Model is the flags of a command that uses a trained model, of a design in the Zoo.
type Model struct {
	Zoo       models.Zoo
	Path      string
	Threads   int
	device    string
	precision string
}

// Device is where the model runs.
func (m *Model) Device() graph.Device { return graph.Device(m.device) }

// Precision is a CUDA device's; "": the default.
func (m *Model) Precision() graph.Precision { return graph.Precision(m.precision) }

// Flags declares -checkpoint, -threads, -device and -precision.
func (m *Model) Flags(flags *flag.FlagSet) {
	m.pathFlag(flags)
	m.DeviceFlags(flags)
}

// DeviceFlags declares -threads, -device and -precision, for a command with a -checkpoint of its own.
func (m *Model) DeviceFlags(flags *flag.FlagSet) {
	m.threadsFlag(flags)
	flags.StringVar(&m.device, "device", string(graph.CPU), "run the model on `DEVICE`: cpu, cuda or, of several GPUs, cuda:1")
	flags.StringVar(&m.precision, "precision", "", "with -device cuda: compute matrix products in `TYPE`: fp32, tf32 or bf16; default tf32")
}

// HostFlags declares -checkpoint and -threads, for a command that runs models on the CPU
// alone.
func (m *Model) HostFlags(flags *flag.FlagSet) {
	m.device = string(graph.CPU)
	m.pathFlag(flags)
	m.threadsFlag(flags)
}

// CheckpointUsage says what a model is read from, for a flag "`PATH`".
const CheckpointUsage = "a run folder (its newest checkpoint), a step folder, a .safetensors file, or the folder of a Hugging Face GPT-2, Llama or Qwen3"

func (m *Model) pathFlag(flags *flag.FlagSet) {
	flags.StringVar(&m.Path, "checkpoint", "", "read the model from `PATH`: "+CheckpointUsage)
}

func (m *Model) threadsFlag(flags *flag.FlagSet) {
	flags.IntVar(&m.Threads, "threads", 0, "use `N` CPU threads; 0: one per core")
}

// Open reads the model and makes its tokenizer. What is wrong with either is the call's
// mistake.
func (m *Model) Open(out Output) (*pretrained.Model, data.Tokenizer, error) {
	p, tokenizer, err := m.OpenIDs(out)
	if err == nil && tokenizer == nil {
		err = Usagef("-checkpoint: %s: want a model with a tokenizer, got one of %d token ids without: this command reads text", p.Source.ModelPath, p.Spec.Vocab)
	}
	return p, tokenizer, err
}

// OpenIDs is Open for a command that can take token ids in the place of text: the tokenizer
// is nil if the model has none.
func (m *Model) OpenIDs(out Output) (*pretrained.Model, data.Tokenizer, error) {
	p, err := m.OpenModel(out)
	if err != nil || p.Data.Tokenizer == "" {
		return p, nil, err
	}
	tokenizer, err := p.Tokenizer()
	return p, tokenizer, Usage(errors.Wrap(err, p.Source.ModelPath))
}

// OpenModel reads the model alone.
func (m *Model) OpenModel(out Output) (*pretrained.Model, error) {
	if m.Path == "" {
		return nil, Usagef("-checkpoint: want a run folder, a step folder or a .safetensors file, got nothing")
	}
	if err := CheckInt("-threads", m.Threads, 0, graph.MaxThreads); err != nil {
		return nil, err
	}
	if err := CheckDevice(m.Device(), m.Precision()); err != nil {
		return nil, err
	}
	WarnDevice(out, m.Device())
	p, err := pretrained.OpenWith(m.Zoo, m.Path)
	if err != nil {
		return nil, Usage(errors.Wrap(err, "-checkpoint"))
	}
	for _, w := range p.Source.Warnings {
		out.Warn(w)
	}
	return p, nil
}
