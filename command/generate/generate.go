// Package generate is the command that continues a text with a trained model.
package generate

import (
	"context"
	"flag"
	"io"
	"math"

	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

// Command generates with models of the designs in a zoo; a prompt may come from stdin.
func Command(zoo models.Zoo, stdin io.Reader) cli.Command {
	c := call{model: cli.Model{Zoo: zoo}, prompt: prompt{stdin: stdin}}
	return cli.Command{
		Name:    "generate",
		Summary: "continue a text with a trained model",
		Example: []string{
			"train -config quickstart    # makes runs/quickstart",
			`generate -checkpoint runs/quickstart -prompt "func " -tokens 200 -temperature 0.8`,
			"# three samples, each up to the end of the function",
			`generate -checkpoint runs/quickstart -prompt "func " -n 3 -stop $'\n}\n'`,
			"# a prompt after the other; Ctrl-C stops a text, Ctrl-D ends",
			"generate -checkpoint runs/quickstart -interactive",
			"# continue a file, of which the model sees the end; write JSON with text, token ids and speed",
			"generate -checkpoint runs/quickstart -slide -json <main.go",
		},
		Notes: []string{
			"The prompt and its continuation are written to standard output as they are generated. A note",
			"on standard error says when the model ended the document before -tokens.",
			"",
			"Without a flag that gives prompts, the prompt is read from standard input, if that is not a",
			"terminal. One line break at the end of a file or of standard input is dropped.",
			"",
			"The logits are changed, and tokens chosen, in this order: -logit-bias, -repetition-penalty,",
			"-temperature, -top-k, -top-p, -min-p. docs/generate.md has the equations.",
			"",
			"The same model, prompt and flags give the same text on the same type of processor with the",
			"same number of -threads.",
			"",
			"-json writes one object per sample: sample (from 0), seed, prompt, prompt_ids, text (without",
			"the prompt), ids, tokens, finish_reason (tokens: -tokens were generated; document: the model",
			"ended the document; stop: a -stop string was generated), tokens_per_s; with -logprobs also",
			"logprobs: id, token, logprob and top, the likeliest in its place, for each token.",
		},
		Flags: c.flags,
		Run:   c.run,
	}
}

// call is what the flags ask for.
type call struct {
	model   cli.Model
	prompt  prompt
	request generate.Request
	stop    cli.List
	bias    cli.List
	samples int
	stream  bool
	json    bool
	window  int
}

func (c *call) flags(flags *flag.FlagSet) {
	c.model.Flags(flags)
	c.prompt.flags(flags)
	flags.IntVar(&c.request.Tokens, "tokens", 200, "generate at most `N` tokens")
	flags.Float64Var(&c.request.Temperature, "temperature", 0.8, "divide the logits by `T`; 0: greedy, always the likeliest token")
	flags.IntVar(&c.request.TopK, "top-k", 0, "sample from the `K` likeliest tokens; 0: from all")
	flags.Float64Var(&c.request.TopP, "top-p", 1, "sample from the likeliest tokens whose probabilities add up to `P`; 1: from all")
	flags.Float64Var(&c.request.MinP, "min-p", 0, "sample from the tokens that are at least `P` times as likely as the likeliest; 0: from all")
	flags.Float64Var(&c.request.RepetitionPenalty, "repetition-penalty", 1, "divide the positive logits of tokens that the text has already by `C`, multiply the negative ones; 1: none")
	flags.Var(&c.bias, "logit-bias", "add VALUE to the logit of a token, given by its id or its text: `TOKEN=VALUE`; may be repeated")
	flags.Uint64Var(&c.request.Seed, "seed", 0, "seed of the random numbers: `N`")
	flags.Var(&c.stop, "stop", "stop where the model generates `TEXT`, which is left out; may be repeated")
	flags.IntVar(&c.samples, "n", 1, "generate `N` samples: the first with -seed, the others with seeds derived from it")
	flags.IntVar(&c.request.LogProbs, "logprobs", 0, "after a text, list the log probability, in nats, of each of its tokens and the `N` likeliest in its place, by the model's own distribution")
	flags.BoolVar(&c.stream, "stream", true, "write a text as it is generated; -stream=false: when it is complete")
	flags.BoolVar(&c.json, "json", false, "write one JSON object per sample, when it is complete")
	flags.BoolVar(&c.request.Slide, "slide", false, "of a prompt that is longer than the window, let the model see the end alone")
	flags.IntVar(&c.window, "window", 0, "let the model see the last `N` tokens at most; 0: its training length, with ALiBi 4 times that")
}

// check refuses what can be refused before the model is read.
func (c *call) check() error {
	if c.request.TopP == 0 { // to the package, 0 means no limit
		return cli.Usagef("-top-p: want above 0 and at most 1 (1: no limit), got 0")
	}
	if err := cli.CheckInt("-n", c.samples, 1, math.MaxInt); err != nil {
		return err
	}
	if c.request.RepetitionPenalty == 0 { // as there
		return cli.Usagef("-repetition-penalty: want 0.001 to 1000 (1: none), got 0")
	}
	c.request.Stop = c.stop
	if err := c.prompt.check(); err != nil {
		return err
	}
	return cli.ByFlag(c.request.Validate())
}

func (c *call) run(ctx context.Context, out cli.Output) error {
	if err := c.check(); err != nil {
		return err
	}
	p, tokenizer, err := c.model.OpenIDs(out)
	if err != nil {
		return err
	}
	var prompts []source
	if !c.prompt.interactive || tokenizer == nil {
		if prompts, err = c.prompt.read(ctx, out, tokenizer != nil, p.Spec.Vocab); err != nil {
			return err
		}
	}
	if c.request.LogitBias, err = biases(c.bias, tokenizer); err != nil {
		return cli.Usage(err)
	}
	g, err := p.Generator(generate.Options{Threads: c.model.Threads, Device: c.model.Device(), Precision: c.model.Precision(), Window: c.window, Rows: rows(max(1, len(prompts)) * c.samples)})
	if err != nil {
		return cli.Usage(cli.ByFlag(err))
	}
	defer g.Close()
	s := &sampling{call: c, generator: g, tokenizer: tokenizer, out: out, prompts: prompts}
	if c.prompt.interactive {
		return s.interactive(ctx)
	}
	return s.run(ctx)
}

// rows is how many texts a generator of so many has to continue at a time; 0: its default.
func rows(texts int) int {
	if texts > 1 {
		return 0
	}
	return 1
}
