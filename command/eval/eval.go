// Package eval is the command that scores text with a trained model.
package eval

import (
	"context"
	"flag"
	"fmt"
	"math"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
)

// Command scores with models of the designs in a zoo.
func Command(zoo models.Zoo) cli.Command {
	c := call{model: cli.Model{Zoo: zoo}}
	return cli.Command{
		Name:    "eval",
		Summary: "score text with a trained model: loss (nats per token), perplexity, bits per byte",
		Example: []string{
			"# after: go run ./cmd/train -config quickstart",
			"go run ./cmd/eval -checkpoint runs/quickstart",
			"go run ./cmd/eval -checkpoint runs/quickstart -data 'models/*.go' -json",
		},
		Notes: []string{
			"Without -data, the validation split of the model's run is scored, as the run itself scores it.",
			"A model without a tokenizer is scored on token ids (-ids), without bits per byte.",
			"-json writes one line: {\"tokens\",\"loss\",\"perplexity\",\"bits_per_byte\"}.",
			"-per-token first writes one line per token: index, text and loss, separated by tabs;",
			"with -json {\"index\",\"id\",\"token\",\"loss\"}.",
		},
		Flags: c.flags,
		Run:   c.run,
	}
}

// call is what the flags ask for.
type call struct {
	model    cli.Model
	data     cli.List
	ids      string
	options  pretrained.EvaluateOptions
	json     bool
	perToken bool
}

func (c *call) flags(flags *flag.FlagSet) {
	c.model.Flags(flags)
	flags.Var(&c.data, "data", "score the text of `FILES`: a file, a folder or a glob; may be repeated")
	flags.StringVar(&c.ids, "ids", "", "score the token ids `1,2,3`, all but the first, in the place of a text")
	flags.StringVar(&c.options.TextField, "text-field", "", "with -data: the text of .jsonl lines is in field `NAME`; default: as in the model's run, usually \"text\"")
	flags.IntVar(&c.options.Tokens, "tokens", 0, "score at most `N` tokens; 0: all of -data, or as many as the run evaluates on")
	flags.BoolVar(&c.json, "json", false, "write the result as JSON")
	flags.BoolVar(&c.perToken, "per-token", false, "also write the loss of each token")
}

func (c *call) run(ctx context.Context, out cli.Output) error {
	c.options.Data = c.data
	if err := c.options.Validate(); err != nil {
		return cli.ByFlag(err)
	}
	p, err := c.open(out)
	if err != nil {
		return err
	}
	c.options.Threads = c.model.Threads
	c.options.Device, c.options.Precision = c.model.Device(), c.model.Precision()
	text, err := p.LoadText(ctx, c.options)
	if err != nil {
		return cli.Usage(err)
	}
	for _, w := range text.Warnings {
		out.Warn(w)
	}
	for _, n := range text.Notes {
		out.Note(n)
	}
	if c.perToken {
		c.options.PerToken = func(t eval.Token) error { return c.printToken(out, t) }
	}
	score, err := eval.Evaluate(ctx, p.Store, p.Spec, text, c.options.Options)
	if err != nil {
		return err
	}
	return c.printScore(out, score)
}

// open reads the model, one that has a tokenizer unless ids are to be scored.
func (c *call) open(out cli.Output) (*pretrained.Model, error) {
	if c.ids == "" {
		p, _, err := c.model.Open(out)
		return p, err
	}
	if len(c.data) > 0 {
		return nil, cli.Usagef("want one of -data and -ids, got both")
	}
	p, _, err := c.model.OpenIDs(out)
	if err == nil {
		c.options.IDs, err = cli.ParseIDs(c.ids, p.Spec.Vocab)
		if n := len(c.options.IDs); err == nil && n < 2 {
			err = errors.Errorf("want at least 2 token ids, got %d", n)
		}
		err = cli.Usage(errors.Wrap(err, "-ids"))
	}
	return p, err
}

func (c *call) printToken(out cli.Output, t eval.Token) error {
	if c.json {
		return out.PrintJSON(t)
	}
	return out.Print(t.String() + "\n")
}

func (c *call) printScore(out cli.Output, s eval.Score) error {
	if c.json {
		return out.PrintJSON(s)
	}
	text := fmt.Sprintf("tokens         %d\nloss           %.6f\nperplexity     %.4f\n", s.Tokens, s.Loss, s.Perplexity)
	if !math.IsNaN(s.BitsPerByte) {
		text += fmt.Sprintf("bits per byte  %.6f\n", s.BitsPerByte)
	}
	return out.Print(text)
}
