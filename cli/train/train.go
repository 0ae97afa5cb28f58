// Package train holds the command that trains a model as a run config says.
package train

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer"
)

// Command returns the command that trains models of the designs in a zoo.
func Command(zoo models.Zoo) commandline.Command {
	c := &call{zoo: zoo}
	return commandline.Command{
		Name:    "train",
		Summary: "train a language model as a run config, a YAML file, says",
		Example: `
			train -config quickstart
			train -config quickstart -set train.steps=200 -out runs/short
			train -config quickstart -resume auto
			train -config quickstart -dry-run      # how long it would take
			train -keys                    # every config key: type, default, meaning`,
		Notes: `
			The run folder gets config.yaml, metrics.jsonl, loss.svg and checkpoints/.
			A checkpoint is saved every 10 minutes (train.checkpoint_minutes), before each evaluation and at the end.
			Ctrl-C gives up the step under way between two operations (several ranks finish it), saves the last whole one and exits with code 0,
			before the first step with code 1; a second Ctrl-C exits at once.
			-resume continues a run in its folder; -fork starts another run from one of its checkpoints.
			A model that diverged, or collapsed (a gradient of 0, and a loss no better than guessing), ends with what to do and exit code 1.`,
		Settings: c,
		Unknown:  func(flag string) string { return keyOf(zoo, flag) },
		Run:      c.run,
	}
}

// call holds the arguments of a call.
type call struct {
	zoo models.Zoo

	Config    string   `yaml:"config" help:"run config: a YAML <FILE>, or the name of a built-in config such as quickstart"`
	Sets      []string `yaml:"set" help:"override a config key: <key=value>, such as train.steps=200; may be repeated"`
	Out       string   `yaml:"out" help:"make <DIR> the run folder; without, the config's out, runs/NAME"`
	Resume    string   `yaml:"resume" default:"none" help:"continue from checkpoint <auto|DIR|none>: auto: the newest, DIR: a step folder, none: start anew"`
	Fork      string   `yaml:"fork" help:"start a new run, in another -out, from the checkpoint in <DIR>, a run or step folder, with its optimizer and position"`
	JSON      bool     `yaml:"json" help:"write each step's metrics and the result as lines of JSON"`
	DryRun    bool     `yaml:"dry-run" help:"say what the run would take, from two timed micro-batches, and exit without a run folder"`
	Profile   bool     `yaml:"profile" help:"at the end show how long each part of a step took, on a GPU also each kernel, and draw profile.svg in the run folder"`
	Simulated int      `yaml:"simulate-threads" min:"0" max:"1024" help:"with -profile: show how evenly <N> threads would share the parts of a step"`

	Keys     bool `yaml:"keys" help:"list all config keys with type, default and meaning, and exit"`
	Markdown bool `yaml:"markdown" help:"with -keys: write Markdown, the page docs/config.md"`
	Configs  bool `yaml:"configs" help:"list the built-in configs, and exit"`
}

func (c *call) run(ctx context.Context, out commandline.Output) error {
	switch {
	case c.Markdown && !c.Keys:
		return commandline.Usagef("-markdown: want -keys with it")
	case c.Keys:
		return listKeys(c.zoo, c.Markdown, out)
	case c.Configs:
		return listConfigs(out)
	}
	run, err := c.load(ctx)
	j, err := c.join(run, err, out)
	if err != nil {
		return err
	}
	t, err := trainer.Open(ctx, run, c.options(run, j, out))
	if err != nil {
		return j.fail(commandline.Usage(err))
	}
	defer t.Close()
	return c.train(ctx, run, t, j, out)
}

// load reads the run that the flags ask for.
func (c *call) load(ctx context.Context) (*runconfig.Run, error) {
	switch {
	case c.DryRun && (c.Fork != "" || c.Resume != string(trainer.ResumeNone)):
		return nil, commandline.Usagef("-dry-run: want neither -resume nor -fork with it: it says what the whole run takes")
	case c.DryRun && c.JSON:
		return nil, commandline.Usagef("-json: want it without -dry-run, which makes no steps and writes a line of text")
	case c.Config == "":
		return nil, commandline.Usagef("-config: want a YAML file or a built-in config, as in -config quickstart, got nothing (train -configs lists them)")
	}
	run, _, err := runconfig.LoadContext(ctx, c.zoo, c.Config, c.Sets)
	if err != nil {
		return nil, commandline.Usage(notAnExperiment(ctx, c.Config, err))
	}
	if c.Out != "" {
		run.Out = c.Out
	}
	return run, c.simulate(run)
}

// simulate gives the run the threads that -simulate-threads names.
func (c *call) simulate(run *runconfig.Run) error {
	switch d := &run.Device; {
	case c.Simulated == 0:
	case !c.Profile:
		return commandline.Usagef("-simulate-threads: want -profile with it, which shows the result")
	case d.Place() != graph.CPU || d.Ranks > 1:
		return commandline.Usagef("-simulate-threads: want device.kind=cpu and device.ranks=1, got %s and %d", d.Place(), d.Ranks)
	default:
		d.Threads = c.Simulated
	}
	return nil
}

// options returns what a run is opened with.
func (c *call) options(run *runconfig.Run, j job, out commandline.Output) trainer.Options {
	o := trainer.Options{Resume: trainer.Resume(c.Resume), Fork: c.Fork, Profile: c.Profile, Simulate: c.Simulated > 0, Dry: c.DryRun, Group: j.group}
	if j.leads() {
		o.Report = c.reporter(run, out)
	}
	return o
}

// shorter returns a note that names a config of minutes, if the run would take more than an hour;
// otherwise "".
func shorter(e trainer.Estimate) string {
	if e.Time <= time.Hour {
		return ""
	}
	return "note: -config quickstart-small takes minutes, on any machine"
}

// train trains an open run, and prints what it takes and how it ended.
func (c *call) train(ctx context.Context, run *runconfig.Run, t *trainer.Trainer, j job, out commandline.Output) error {
	t.Note(describe(run, t) + j.String())
	log, err := trainer.PredictLog(run)
	if err != nil {
		return j.fail(errors.Wrap(err, "before the first step"))
	}
	if log.Steps > 0 {
		t.Note("train.keep_log: " + log.String())
	}
	estimate, err := t.Estimate(ctx)
	if err != nil {
		return j.fail(errors.Wrap(err, "before the first step"))
	}
	if note := shorter(estimate); note != "" {
		t.Note(note)
	}
	if c.DryRun {
		if j.leads() {
			err = out.Print(estimate.String() + "\n")
		}
		return j.end(err)
	}
	if estimate.Steps > 0 {
		t.Note(estimate.String())
	}
	quiet := context.AfterFunc(ctx, func() { t.Note(interrupted(run, t, estimate)) })
	result, err := t.Run(ctx)
	quiet()
	if err != nil {
		return j.fail(err)
	}
	if c.Profile && j.leads() {
		err = profile(t, run.Out, run.Name, out)
	}
	if err == nil && j.leads() {
		err = c.finish(ctx, run, t, result, out)
	}
	return j.end(err)
}

// interrupted says what an interrupt waits for.
func interrupted(run *runconfig.Run, t *trainer.Trainer, e trainer.Estimate) string {
	text := "interrupted: the step under way stops between two operations"
	if run.Device.Ranks > 1 {
		text = "interrupted: all ranks finish the step under way"
	}
	if step := e.MicroBatch * time.Duration(run.Train.Accumulate/run.Device.Ranks); step > time.Second {
		text += fmt.Sprintf(" (a step takes %.2g s)", step.Seconds())
	}
	text += "; saving the last whole step"
	if took := t.SaveTime(); took > 0 {
		text += fmt.Sprintf(", which took %.2g s the last time", took.Seconds())
	}
	return text + "; Ctrl-C again ends at once"
}

// reporter returns a progress bar on a terminal, metrics with -json, and plain lines otherwise.
func (c *call) reporter(run *runconfig.Run, out commandline.Output) trainer.Reporter {
	if c.JSON {
		return trainer.NewJSONLines(out.Stdout, out.Stderr)
	}
	if out.Terminal() {
		return trainer.NewBar(out.Stderr)
	}
	return trainer.NewLines(out.Stderr, run.Train.LogEvery)
}

// describe says what is going to be trained.
func describe(run *runconfig.Run, t *trainer.Trainer) string {
	cost, memory := run.Spec().Cost(), t.Memory()
	return fmt.Sprintf("%s: %.2fM parameters, %.1f MFLOP a token, stream of %d; %d steps of %d tokens on %.1fM tokens of text; %d MB of activations and "+
		"buffers, %d MB of weights, gradients and moments; into %s",
		run.Name, float64(cost.Parameters)/1e6, float64(cost.TrainFLOPs())/1e6, cost.StreamSize, run.TotalSteps(), run.StepTokens(),
		float64(t.Corpus().Train.Tokens.Len())/1e6, memory.Arena>>20, memory.Parameters>>20, run.Out)
}

// summary is the result as JSON.
type summary struct {
	Steps       int         `json:"steps"`
	Interrupted bool        `json:"interrupted"`
	Stopped     string      `json:"stopped,omitempty"` // the key of train.stop that ended the run
	Diverged    bool        `json:"diverged"`          // the final loss is far above the loss of guessing
	Collapsed   bool        `json:"collapsed"`         // the gradient is 0, or the loss has long been that of guessing
	Spikes      int         `json:"spikes"`            // spikes of the loss
	Idle        []string    `json:"idle"`              // blocks and sublayers without which the loss hardly rises; null if there are none or nobody searched
	Validation  *eval.Score `json:"validation"`        // null if interrupted or without validation text
	Checkpoint  string      `json:"checkpoint"`
}

// finish prints how the run ended: score, a sample of text, files. If the model is worthless, it
// prints no sample and returns an error that says what to do.
func (c *call) finish(ctx context.Context, run *runconfig.Run, t *trainer.Trainer, r *trainer.Result, out commandline.Output) error {
	v := verdictOn(run, r)
	failed := v.err(run, r)
	idle, err := []string(nil), error(nil)
	if failed == nil && !r.Interrupted {
		if idle, err = idleParts(ctx, run, t); err != nil && ctx.Err() == nil {
			return err
		}
	}
	if c.JSON {
		if err := out.PrintJSON(summary{r.Steps, r.Interrupted, r.Stopped, v.diverged, v.collapsed || r.Collapsed, r.Spikes, idle, r.Final,
			r.Checkpoint}); err != nil {
			return err
		}
		return failed
	}
	if r.Interrupted {
		return out.Print(fmt.Sprintf("interrupted after step %d of %d%s; saved in %s; go on with -resume auto\n", r.Steps, run.TotalSteps(), oddities(r),
			r.Checkpoint))
	}
	text := fmt.Sprintf("trained %d steps%s\n", r.Steps, oddities(r))
	if r.Stopped != "" {
		text = fmt.Sprintf("stopped after step %d of %d by %s%s\n", r.Steps, run.TotalSteps(), r.Stopped, oddities(r))
	}
	if r.Final != nil {
		text += fmt.Sprintf("validation: %.4f bits per byte, loss %.4f, perplexity %.3f over %d tokens%s\n", r.Final.BitsPerByte, r.Final.Loss, r.Final.Perplexity,
			r.Final.Tokens, r.Final.AccuracyText())
	}
	if err := out.Print(text); err != nil {
		return err
	}
	if failed == nil {
		if err := sample(ctx, run, t, out); err != nil {
			return err
		}
	}
	text = ""
	if len(idle) > 0 {
		text = fmt.Sprintf("idle: without %s the loss rises by less than %g nats each: a lower train.lr, or more steps, may put them to use\n",
			strings.Join(idle, ", "), idleNats)
	}
	text += "files:\n"
	for _, file := range append(t.Files(), r.Checkpoint) {
		text += "  " + file + "\n"
	}
	if err := out.Print(text); err != nil {
		return err
	}
	return failed
}

// sample prints text that the trained model generates.
func sample(ctx context.Context, run *runconfig.Run, t *trainer.Trainer, out commandline.Output) error {
	if run.Sample.Tokens == 0 {
		return nil
	}
	if err := out.Print("sample:\n"); err != nil {
		return err
	}
	result, err := t.Sample(ctx, out.PrintText)
	if err != nil && ctx.Err() == nil {
		return err
	}
	if err := out.Print("\n"); err != nil { // after an interrupt, too: the run itself is done and saved
		return err
	}
	if result.Stop == generate.StopDocument {
		out.Note(fmt.Sprintf("the sample ends there: the model ended the document after %d of %d tokens", result.Tokens, run.Sample.Tokens))
	}
	return nil
}
