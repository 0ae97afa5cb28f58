package cli

import (
	"flag"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/trainer"
)

// Model is the flags of a command that uses a trained model.
type Model struct {
	Path    string
	Threads int
}

// Flags declares -checkpoint and -threads.
func (m *Model) Flags(flags *flag.FlagSet) {
	flags.StringVar(&m.Path, "checkpoint", "", "read the model from `P`: a run folder (its newest checkpoint), a step folder, or one .safetensors file")
	flags.IntVar(&m.Threads, "threads", 0, "compute with `N` workers; 0: all cores")
}

// Open reads the model and makes its tokenizer. What is wrong with either is the call's
// mistake.
func (m *Model) Open(out Output) (*trainer.Pretrained, data.Tokenizer, error) {
	if m.Path == "" {
		return nil, nil, Usagef("-checkpoint: want a run folder, a step folder or a .safetensors file, got nothing")
	}
	if m.Threads < 0 {
		return nil, nil, Usagef("-threads: want >= 0 (0: all cores), got %d", m.Threads)
	}
	p, err := trainer.OpenModel(m.Path)
	if err != nil {
		return nil, nil, Usage(errors.Wrap(err, "-checkpoint"))
	}
	for _, w := range p.Source.Warnings {
		out.Warn(w)
	}
	tokenizer, err := data.NewTokenizer(p.Data.Tokenizer)
	return p, tokenizer, Usage(errors.Wrap(err, p.Source.ModelPath))
}
