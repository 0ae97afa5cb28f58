// Package eval holds the command that scores trained models on text and on tasks.
package eval

import (
	"context"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/eval/tasks"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/settings"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
)

// Command returns the command that scores models of the designs in a zoo.
func Command(zoo models.Zoo) commandline.Command {
	c := &call{Model: commandline.Model{Checkpoint: commandline.Checkpoint{Zoo: zoo}}}
	return commandline.Command{
		Name:    "eval",
		Summary: "score trained models on text (loss in nats per token, perplexity, bits per byte) or on a task (accuracy, perplexity)",
		Example: `
			train -config quickstart    # makes runs/quickstart
			eval -checkpoint runs/quickstart
			eval -checkpoint runs/quickstart -data 'models/*.go' -by position -figure position.svg
			eval -task eval/tasks/testdata/hellaswag.jsonl -format hellaswag -shots 2 runs/quickstart
			# several checkpoints in one table
			eval runs/quickstart runs/quickstart-transformer -json`,
		Notes:    notes(),
		Settings: c,
		Run:      c.run,
	}
}

// textFlags lists the flags that cannot be used with a task.
func textFlags() []string {
	return []string{"data", "ids", "text-field", "tokens", "by", "top", "figure", "per-token"}
}

// taskFlags lists the flags that need a task.
func taskFlags() []string {
	return []string{"type", "format", "shots", "shots-from", "limit", "bos", "per-document"}
}

func notes() string {
	text := `
		Without -data and -task, the validation split of the model's run is scored, as the run itself scores it.
		A model without a tokenizer is scored on token ids (-ids), without bits per byte.
		± is a standard error: of accuracies the sample's, of all else by a bootstrap over windows or documents.
		-json writes one line per checkpoint: {"tokens","loss","perplexity","bits_per_byte"}, each but tokens with
		NAME_stderr, with -by "by" and "groups"; of a task {"task","format","shots","documents","truncated","metrics"}.
		With several checkpoints each line begins with "checkpoint".
		-per-token first writes one line per token: index, text and loss, separated by tabs;
		with -json {"index","id","token","loss"}.

		Fields of a task's lines, by -type or -format (docs/eval.md):`
	for _, f := range tasks.Formats() {
		text += "\n  " + f.Name + ": " + f.Fields
	}
	return text
}

// call holds the arguments of a call.
type call struct {
	commandline.Model
	Paths     []string `yaml:"checkpoints" arg:"[CHECKPOINT...]" help:"further models to score, each as -checkpoint's PATH"`
	JSON      bool     `yaml:"json" help:"write the result as JSON"`
	Resamples int      `yaml:"bootstrap" default:"1000" min:"2" help:"draw <N> resamples for standard errors"`
	Seed      uint64   `yaml:"seed" help:"seed of the resamples and of the examples of -shots: <N>"`
	text
	task
	Given settings.Given
}

// text holds the settings that cannot be used with a task.
type text struct {
	pretrained.EvaluateOptions
	GivenIDs string `yaml:"ids" group:"What text is scored" help:"score the token ids <1,2,3>, all but the first, instead of a text"`
	By       string `yaml:"by" group:"What text is scored" help:"also write the loss by <GROUP>: position (in the window), token or document"`
	Top      int    `yaml:"top" group:"What text is scored" default:"20" min:"1" help:"with -by token or document: list the <N> with most of the loss; -json: all"`
	Figure   string `yaml:"figure" group:"What text is scored" help:"with -by: draw it into <FILE.svg>"`
	PerToken bool   `yaml:"per_token" group:"What text is scored" help:"also write the loss of each token"`
}

// task holds the settings that need a task.
type task struct {
	File string `yaml:"task" group:"A task instead of text" help:"score the task in <FILE.jsonl>; heldout: one made of the first model's validation text"`
	Kind string `yaml:"type" group:"A task instead of text" help:"the task's <KIND>: multiple_choice, last_word, rolling (default multiple_choice)"`
	tasks.Options
	PerDocument bool `yaml:"per_document" group:"A task instead of text" help:"also write a JSON line per document: log-likelihoods, and whether it is right"`
}

// kinds lists the formats that say how to score a task; the formats after them in tasks.Formats
// belong to known tasks.
func kinds() []string {
	var names []string
	for _, f := range tasks.Formats()[:3] {
		names = append(names, f.Name)
	}
	return names
}

func (c *call) run(ctx context.Context, out commandline.Output) error {
	if err := c.check(); err != nil {
		return err
	}
	if c.File != "" {
		return c.runTask(ctx, out)
	}
	return c.runText(ctx, out)
}

// check refuses, before a model is read, all that can be refused without it.
func (c *call) check() error {
	if c.Path != "" {
		c.Paths = append([]string{c.Path}, c.Paths...)
	}
	if len(c.Paths) == 0 {
		c.Paths = []string{""} // cli.Model refuses it
	}
	without, with := textFlags(), "text"
	if c.File == "" {
		without, with = taskFlags(), "-task"
	}
	for _, name := range c.Given {
		if slices.Contains(without, name) {
			return commandline.Usagef("-%s: want it with %s alone", name, with)
		}
	}
	several := len(c.Paths) > 1
	switch {
	case several && c.GivenIDs != "":
		return commandline.Usagef("-ids: want one checkpoint, got %d: ids mean other tokens to other models", len(c.Paths))
	case several && c.PerToken:
		return commandline.Usagef("-per-token: want one checkpoint, got %d", len(c.Paths))
	}
	return c.checkText()
}

func (c *call) checkText() error {
	if err := c.EvaluateOptions.Validate(); err != nil {
		return commandline.ByFlag(err)
	}
	known := []string{eval.ByPosition, eval.ByToken, eval.ByDocument}
	switch {
	case c.By != "" && !slices.Contains(known, c.By):
		return commandline.Usagef("-by: want one of %s, got %q", strings.Join(known, ", "), c.By)
	case c.Figure != "" && c.By == "":
		return commandline.Usagef("-figure: want -by with it: it is what is drawn")
	case c.Figure != "" && c.By != eval.ByPosition && len(c.Paths) > 1:
		return commandline.Usagef("-figure: want -by position or one checkpoint, got -by %s and %d checkpoints", c.By, len(c.Paths))
	}
	return nil
}

// each opens the checkpoints one at a time and scores them. score gets options that include the
// model's compute flags.
func (c *call) each(ctx context.Context, out commandline.Output, score func(path string, m *pretrained.Model, o eval.Options) error) error {
	for _, path := range c.Paths {
		c.Path = path
		m, err := c.open(out)
		if err != nil {
			return err
		}
		o := eval.Options{Threads: c.Place.Threads, Device: c.Place.Device, Precision: c.Place.Precision}
		if err := score(path, m, o); err != nil {
			if len(c.Paths) > 1 {
				err = errors.Wrap(err, path)
			}
			return err
		}
	}
	return ctx.Err()
}

// open reads the model. It must have a tokenizer, unless ids are to be scored.
func (c *call) open(out commandline.Output) (*pretrained.Model, error) {
	if c.GivenIDs == "" {
		p, _, err := c.Open(out)
		return p, err
	}
	if len(c.Data) > 0 {
		return nil, commandline.Usagef("want one of -data and -ids, got both")
	}
	p, _, err := c.OpenIDs(out)
	if err == nil {
		c.EvaluateOptions.IDs, err = data.ParseIDs(c.GivenIDs, p.Spec.Vocab)
		if n := len(c.EvaluateOptions.IDs); err == nil && n < 2 {
			err = errors.Errorf("want at least 2 token ids, got %d", n)
		}
		err = commandline.Usage(errors.Wrap(err, "-ids"))
	}
	return p, err
}
