// Command generate continues a text with a trained model.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/cmd/internal/cli"
	"github.com/residua-go/residua/generate"
)

func main() { os.Exit(cli.Main(command(), os.Args[1:], os.Stdout, os.Stderr)) }

func command() cli.Command {
	var c call
	return cli.Command{
		Name:    "generate",
		Summary: "continue a text with a trained model, token by token",
		Example: []string{
			"# after: go run ./cmd/train -config configs/quickstart.yaml",
			`go run ./cmd/generate -checkpoint runs/quickstart -prompt "func " -tokens 200 -temperature 0.8`,
		},
		Notes: []string{
			"The prompt and what follows it go to standard output as they come, with a line break",
			"at the end; that a document ended before -tokens is said on standard error. The same",
			"model, prompt and flags give the same text.",
		},
		Flags: c.flags,
		Run:   c.run,
	}
}

// call is what the flags ask for.
type call struct {
	model   cli.Model
	request generate.Request
	window  int
}

func (c *call) flags(flags *flag.FlagSet) {
	c.request.Echo = true
	c.model.Flags(flags)
	flags.StringVar(&c.request.Prompt, "prompt", "", "continue `TEXT`")
	flags.IntVar(&c.request.Tokens, "tokens", 200, "generate at most `N` tokens")
	flags.Float64Var(&c.request.Temperature, "temperature", 0.8, "divide the logits by `T`; 0: always the likeliest token")
	flags.IntVar(&c.request.TopK, "top-k", 0, "draw among the `K` likeliest tokens; 0: all")
	flags.Float64Var(&c.request.TopP, "top-p", 1, "draw among the fewest tokens with probability `P` together; 1: all")
	flags.Uint64Var(&c.request.Seed, "seed", 0, "seed the draws with `N`")
	flags.IntVar(&c.window, "window", 0, "let the model see at most `N` tokens; 0: as many as suit it")
}

// check refuses what can be refused before the model is read.
func (c *call) check() error {
	if c.request.TopP == 0 { // to the package, 0 means no limit
		return cli.Usagef("-top-p: want above 0 and at most 1 (1: no limit), got 0")
	}
	var value *generate.ValueError
	if err := c.request.Validate(); errors.As(err, &value) {
		return cli.Usagef("-%s: %s", value.Value, value.Problem)
	}
	return nil
}

func (c *call) run(ctx context.Context, out cli.Output) error {
	if err := c.check(); err != nil {
		return err
	}
	p, tokenizer, err := c.model.Open(out)
	if err != nil {
		return err
	}
	g, err := generate.New(p.Store, p.Model, tokenizer, generate.Options{Threads: c.model.Threads, Device: c.model.Device(), Precision: c.model.Precision(), Window: c.window})
	if err != nil {
		return cli.Usage(err)
	}
	defer g.Close()
	return c.generate(ctx, g, out)
}

func (c *call) generate(ctx context.Context, g *generate.Generator, out cli.Output) error {
	ended := true // nothing, or a line break
	result, err := g.Generate(ctx, c.request, func(text string) error {
		ended = strings.HasSuffix(text, "\n")
		return out.Print(text)
	})
	if !ended {
		if err := out.Print("\n"); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	if result.PromptTokens > g.Window() {
		out.Note(fmt.Sprintf("the prompt has %d tokens, the model saw the last %d (-window)", result.PromptTokens, g.Window()))
	}
	if result.Stop == generate.StopDocument {
		out.Note(fmt.Sprintf("the model ended the document after %d of %d tokens", result.Tokens, c.request.Tokens))
	}
	return nil
}
