// Package generate holds the command that continues a text with a trained model.
package generate

import (
	"context"
	"io"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/models"
)

// Command returns the command that generates with models of the designs in a zoo; a prompt may come
// from stdin.
func Command(zoo models.Zoo, stdin io.Reader) commandline.Command {
	c := &call{Model: commandline.Model{Checkpoint: commandline.Checkpoint{Zoo: zoo}}, prompt: prompt{stdin: stdin}}
	return commandline.Command{
		Name:    "generate",
		Summary: "continue a text with a trained model",
		Example: `
			train -config quickstart    # makes runs/quickstart
			generate -checkpoint runs/quickstart -prompt "func " -tokens 200 -temperature 0.8
			# three samples, each up to the end of the function
			generate -checkpoint runs/quickstart -prompt "func " -n 3 -stop $'\n}\n'
			# a prompt after the other; Ctrl-C stops a text, Ctrl-D ends
			generate -checkpoint runs/quickstart -interactive
			# continue a file, of which the model sees the end; write JSON with text, token ids and speed
			generate -checkpoint runs/quickstart -slide -json <main.go`,
		Notes: `
			The prompt and its continuation are written to standard output as they are generated. A note
			on standard error says when the model ended the document before -tokens.

			Without a flag that gives prompts, the prompt is read from standard input, if that is not a
			terminal. One line break at the end of a file or of standard input is dropped.

			The logits are changed, and tokens chosen, in this order: -logit-bias, -repetition-penalty,
			-temperature, -top-k, -top-p, -min-p. docs/generate.md has the equations.

			The same model, prompt and flags give the same text on processors of one kind.

			-json writes one object per sample: sample (from 0), seed, prompt, prompt_ids, text (without
			the prompt), ids, tokens, finish_reason (tokens: -tokens were generated; document: the model
			ended the document; stop: a -stop string was generated), tokens_per_s; with -logprobs also
			logprobs: id, token, logprob and top, the likeliest in its place, for each token.`,
		Settings: c,
		Run:      c.run,
	}
}

// call holds the arguments of a call.
type call struct {
	commandline.Model
	prompt
	generate.Request
	Biases  []string `yaml:"logit_bias" help:"add VALUE to the logit of a token, given by its id or its text: <TOKEN=VALUE>; may be repeated"`
	Samples int      `yaml:"n" default:"1" min:"1" help:"generate <N> samples: the first with -seed, the others with seeds derived from it"`
	Stream  bool     `yaml:"stream" default:"true" help:"write a text as it is generated; -stream=false: when it is complete"`
	JSON    bool     `yaml:"json" help:"write one JSON object per sample, when it is complete"`
	Window  int      `yaml:"window" help:"let the model see the last <N> tokens at most; 0: its training length, with ALiBi 4 times that"`
}

// check refuses, before the model is read, all that can be refused without it.
func (c *call) check() error {
	if c.TopP == 0 { // in package generate, 0 means no limit
		return commandline.Usagef("-top-p: want above 0 and at most 1 (1: no limit), got 0")
	}
	if c.RepetitionPenalty == 0 { // 0 means none there, too
		return commandline.Usagef("-repetition-penalty: want 0.001 to 1000 (1: none), got 0")
	}
	if err := c.prompt.check(); err != nil {
		return err
	}
	return commandline.ByFlag(c.Request.Validate())
}

func (c *call) run(ctx context.Context, out commandline.Output) error {
	if err := c.check(); err != nil {
		return err
	}
	p, tokenizer, err := c.OpenIDs(out)
	if err != nil {
		return err
	}
	var prompts []source
	if !c.Interactive || tokenizer == nil {
		if prompts, err = c.prompt.read(ctx, out, tokenizer != nil, p.Spec.Vocab); err != nil {
			return err
		}
	}
	if c.Chat {
		if err := asChats(ctx, p, tokenizer, prompts); err != nil {
			return commandline.Usage(errors.WithMessage(err, "-chat"))
		}
	}
	if c.LogitBias, err = biases(c.Biases, tokenizer); err != nil {
		return commandline.Usage(err)
	}
	g, err := p.Generator(generate.Options{Threads: c.Threads, Device: c.Device, Precision: c.Precision, Release: true, Window: c.Window,
		Rows: rows(max(1, len(prompts)) * c.Samples)})
	if err != nil {
		return commandline.Usage(commandline.ByFlag(err))
	}
	defer g.Close()
	s := &sampling{call: c, generator: g, tokenizer: tokenizer, out: out, prompts: prompts}
	if c.Interactive {
		return s.interactive(ctx)
	}
	return s.run(ctx)
}

// rows returns how many rows a generator needs to continue that many texts at a time; 0 is its
// default.
func rows(texts int) int {
	if texts > 1 {
		return 0
	}
	return 1
}
