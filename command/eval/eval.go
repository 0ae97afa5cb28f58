// Package eval is the command that scores trained models on text and on tasks.
package eval

import (
	"context"
	"flag"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/eval/tasks"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
)

// Command scores with models of the designs in a zoo.
func Command(zoo models.Zoo) cli.Command {
	c := &call{model: cli.Model{Zoo: zoo}}
	return cli.Command{
		Name:    "eval",
		Summary: "score trained models on text (loss in nats per token, perplexity, bits per byte) or on a task (accuracy, perplexity)",
		Example: []string{
			"train -config quickstart    # makes runs/quickstart",
			"eval -checkpoint runs/quickstart",
			"eval -checkpoint runs/quickstart -data 'models/*.go' -by position -figure position.svg",
			"eval -task eval/tasks/testdata/hellaswag.jsonl -format hellaswag -shots 2 runs/quickstart",
			"# several checkpoints in one table",
			"eval runs/quickstart runs/quickstart-transformer -json",
		},
		Notes:    notes(),
		Flags:    c.flags,
		Groups:   groups(),
		Operands: &cli.Operands{Name: "[CHECKPOINT...]", Usage: "further models to score, each as -checkpoint's PATH", Values: &c.paths},
		Run:      c.run,
	}
}

func groups() []cli.Group {
	return []cli.Group{
		{Heading: "What text is scored", Flags: textFlags()},
		{Heading: "A task instead of text", Flags: append([]string{"task"}, taskFlags()...)},
	}
}

// textFlags are those that make no sense with a task.
func textFlags() []string {
	return []string{"data", "ids", "text-field", "tokens", "by", "top", "figure", "per-token"}
}

// taskFlags are those that make no sense without one.
func taskFlags() []string {
	return []string{"type", "format", "shots", "shots-from", "limit", "bos", "per-document"}
}

func notes() []string {
	lines := []string{
		"Without -data and -task, the validation split of the model's run is scored, as the run itself scores it.",
		"A model without a tokenizer is scored on token ids (-ids), without bits per byte.",
		"± is a standard error: of accuracies the sample's, of all else by a bootstrap over windows or documents.",
		"-json writes one line per checkpoint: {\"tokens\",\"loss\",\"perplexity\",\"bits_per_byte\"}, each but tokens with",
		"NAME_stderr, with -by \"by\" and \"groups\"; of a task {\"task\",\"format\",\"shots\",\"documents\",\"truncated\",\"metrics\"}.",
		"With several checkpoints each line begins with \"checkpoint\".",
		"-per-token first writes one line per token: index, text and loss, separated by tabs;",
		"with -json {\"index\",\"id\",\"token\",\"loss\"}.",
		"",
		"Fields of a task's lines, by -type or -format (docs/eval.md):",
	}
	for _, f := range tasks.Formats() {
		lines = append(lines, "  "+f.Name+": "+f.Fields)
	}
	return lines
}

// call is what the flags ask for.
type call struct {
	model cli.Model
	paths []string // checkpoints besides model.Path
	given *flag.FlagSet

	data        cli.List
	ids         string
	options     pretrained.EvaluateOptions
	by          string
	top         int
	figure      string
	perToken    bool
	file, kind  string // of a task
	task        tasks.Options
	perDocument bool

	resamples int
	seed      uint64
	json      bool
}

func (c *call) flags(flags *flag.FlagSet) {
	c.given = flags
	c.model.Flags(flags)
	flags.BoolVar(&c.json, "json", false, "write the result as JSON")
	flags.IntVar(&c.resamples, "bootstrap", 1000, "draw `N` resamples for standard errors")
	flags.Uint64Var(&c.seed, "seed", 0, "seed of the resamples and of the examples of -shots: `N`")

	flags.Var(&c.data, "data", "score the text of `FILES`: a file, a folder, a glob, or a folder of token shards; may be repeated")
	flags.StringVar(&c.ids, "ids", "", "score the token ids `1,2,3`, all but the first, in the place of a text")
	flags.StringVar(&c.options.TextField, "text-field", "", "with -data: the text of .jsonl lines is in field `NAME`; default: as in the model's run, usually \"text\"")
	flags.IntVar(&c.options.Tokens, "tokens", 0, "score at most `N` tokens; 0: all of -data, or as many as the run evaluates on")
	flags.StringVar(&c.by, "by", "", "also write the loss by `GROUP`: position (in the window), token or document")
	flags.IntVar(&c.top, "top", 20, "with -by token or document: list the `N` with the largest share of the loss; -json lists all")
	flags.StringVar(&c.figure, "figure", "", "with -by: draw it into `FILE.svg`")
	flags.BoolVar(&c.perToken, "per-token", false, "also write the loss of each token")

	flags.StringVar(&c.file, "task", "", "score the task in `FILE.jsonl`, one document a line")
	flags.StringVar(&c.kind, "type", "", "the task's `KIND`: "+strings.Join(kinds(), ", ")+" (default multiple_choice)")
	flags.StringVar(&c.task.Format, "format", "", "the file is of the task `NAME`: "+strings.Join(named(), ", "))
	flags.IntVar(&c.task.Shots, "shots", 0, "put `N` solved documents before each")
	flags.StringVar(&c.task.ShotsFrom, "shots-from", "", "take those from `FILE.jsonl`; default: the task's own other documents")
	flags.IntVar(&c.task.Limit, "limit", 0, "score the first `N` documents alone; 0: all")
	flags.BoolVar(&c.task.BOS, "bos", false, "begin each context with the token that begins documents")
	flags.BoolVar(&c.perDocument, "per-document", false, "also write one JSON line per document: its log-likelihoods, and whether it was answered rightly")
}

// kinds are the formats that say how a task is scored, named those of known tasks.
func kinds() []string { return formatNames()[:3] }
func named() []string { return formatNames()[3:] }

func formatNames() []string {
	var names []string
	for _, f := range tasks.Formats() {
		names = append(names, f.Name)
	}
	return names
}

func (c *call) run(ctx context.Context, out cli.Output) error {
	if err := c.check(); err != nil {
		return err
	}
	if c.file != "" {
		return c.runTask(ctx, out)
	}
	return c.runText(ctx, out)
}

// check refuses what can be refused before a model is read.
func (c *call) check() error {
	if c.model.Path != "" {
		c.paths = append([]string{c.model.Path}, c.paths...)
	}
	if len(c.paths) == 0 {
		c.paths = []string{""} // which cli.Model refuses
	}
	without, with := textFlags(), "text"
	if c.file == "" {
		without, with = taskFlags(), "-task"
	}
	var wrong error
	c.given.Visit(func(f *flag.Flag) {
		if wrong == nil && slices.Contains(without, f.Name) {
			wrong = cli.Usagef("-%s: want it with %s alone", f.Name, with)
		}
	})
	several := len(c.paths) > 1
	switch {
	case wrong != nil:
		return wrong
	case c.resamples < 2:
		return cli.Usagef("-bootstrap: want >= 2, got %d", c.resamples)
	case c.top < 1:
		return cli.Usagef("-top: want >= 1, got %d", c.top)
	case several && c.ids != "":
		return cli.Usagef("-ids: want one checkpoint, got %d: ids mean other tokens to other models", len(c.paths))
	case several && c.perToken:
		return cli.Usagef("-per-token: want one checkpoint, got %d", len(c.paths))
	}
	return c.checkText()
}

func (c *call) checkText() error {
	c.options.Data = c.data
	if err := c.options.Validate(); err != nil {
		return cli.ByFlag(err)
	}
	known := []string{eval.ByPosition, eval.ByToken, eval.ByDocument}
	switch {
	case c.by != "" && !slices.Contains(known, c.by):
		return cli.Usagef("-by: want one of %s, got %q", strings.Join(known, ", "), c.by)
	case c.figure != "" && c.by == "":
		return cli.Usagef("-figure: want -by with it: it is what is drawn")
	case c.figure != "" && c.by != eval.ByPosition && len(c.paths) > 1:
		return cli.Usagef("-figure: want -by position or one checkpoint, got -by %s and %d checkpoints", c.by, len(c.paths))
	}
	return nil
}

// each opens the checkpoints, one at a time, and scores them; a model's compute flags are in the options that score gets.
func (c *call) each(ctx context.Context, out cli.Output, score func(path string, m *pretrained.Model, o eval.Options) error) error {
	for _, path := range c.paths {
		c.model.Path = path
		m, err := c.open(out)
		if err != nil {
			return err
		}
		o := eval.Options{Threads: c.model.Threads, Device: c.model.Device(), Precision: c.model.Precision()}
		if err := score(path, m, o); err != nil {
			if len(c.paths) > 1 {
				err = errors.Wrap(err, path)
			}
			return err
		}
	}
	return ctx.Err()
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
