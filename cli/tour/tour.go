// Package tour holds the command that shows all of Residua on a text of the user's, in a given
// time.
package tour

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/cli/report"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/experiment"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer"
)

// Command returns the command that trains and compares two models of a zoo.
func Command(zoo models.Zoo) commandline.Command {
	c := &call{zoo: zoo}
	return commandline.Command{
		Name:    "tour",
		Summary: "train an RMT and a transformer of the same cost on a text, compare them and look inside",
		Example: `
			tour                             # on Go's standard library, in 20 minutes
			tour -data notes -time 1h -out runs/notes`,
		Notes: `
			It reads the text byte by byte, picks sizes that this machine can train in the time, trains both models one after
			the other for equally many FLOPs, and writes two pages that open offline: report.html with both runs side by
			side, their losses and samples, and stream/index.html with the RMT's stream taken apart. The time is a plan: more
			work on the machine makes the tour take longer. After an interrupt the same call goes on.`,
		Settings: c,
		Run:      c.run,
	}
}

// call holds the arguments of a call.
type call struct {
	zoo models.Zoo

	Data    string        `yaml:"data" help:"the text: a <FILE>, folder or glob, as for prepare; without, the source of Go's standard library"`
	Time    time.Duration `yaml:"time" default:"20m" help:"plan for <TIME>, as in 1h, in all"`
	Out     string        `yaml:"out" help:"write everything into folder <DIR>; without, runs/tour"`
	Seed    uint64        `yaml:"seed" default:"1" help:"seed weights and batches with <N>"`
	Threads int           `yaml:"threads" min:"0" max:"1024" help:"use <N> CPU threads; 0: one per core"`

	prompt string       // of the samples: how the validation text begins
	unlock func() error // of the folder; nil: it is not locked
}

const leastTime = 20 * time.Second

// training returns the part of the time, in seconds, in which both models train. Reading the text,
// trying sizes, taking the stream apart and writing the pages take about 6 seconds for the smallest
// models, and more, as 4% of the time allows, for the larger ones of a longer tour.
func (c *call) training() float64 { return 0.96*c.Time.Seconds() - 6 }

func (c *call) run(ctx context.Context, out commandline.Output) error {
	if c.Time < leastTime {
		return commandline.Usagef("-time: want at least %v, got %v", leastTime, c.Time)
	}
	if c.Out == "" {
		c.Out = filepath.Join("runs", "tour")
	}
	kept, err := c.begin(out)
	defer c.release()
	if err != nil {
		return err
	}
	corpus, err := c.corpus(ctx, out)
	if err != nil {
		if ctx.Err() == nil && kept.Steps == 0 {
			c.leaveNothing()
		}
		return err
	}
	out.Note(fmt.Sprintf("%.1f million bytes to train on, %.1f million for validation", float64(corpus.Train.Tokens.Len())/1e6,
		float64(corpus.Val.Tokens.Len())/1e6))
	c.prompt = promptOf(corpus)
	if kept.Steps == 0 {
		if kept.Size, kept.Steps, err = c.choose(ctx, corpus); err == nil {
			err = c.keep(kept)
		}
		if err != nil {
			return err
		}
	}
	pair, err := c.pair(sizes[kept.Size], kept.Steps)
	if err != nil {
		return err
	}
	for _, run := range pair {
		cost := run.Spec().Cost()
		out.Note(fmt.Sprintf("%s: %.2fM parameters, %.1f MFLOP a token, %d steps of %d tokens", run.Name, float64(cost.Parameters)/1e6,
			float64(cost.TrainFLOPs())/1e6, run.TotalSteps(), run.StepTokens()))
	}
	for _, run := range pair {
		if err := c.train(ctx, run, corpus, out); err != nil {
			return err
		}
	}
	stream := filepath.Join(c.Out, "stream")
	if err := c.takeApart(ctx, best(pair[0]), stream, corpus); err != nil {
		return err
	}
	return c.finish(pair, stream, out)
}

// config returns the config of one of the tour's runs.
func (c *call) config(name string, steps int, model []string) (*runconfig.Run, error) {
	sets := append([]string{
		"name=" + name, fmt.Sprintf("out=%q", filepath.ToSlash(filepath.Join(c.Out, name))), fmt.Sprintf("seed=%d", c.Seed),
		fmt.Sprintf("device.threads=%d", c.Threads),
		fmt.Sprintf("train.steps=%d", steps), fmt.Sprintf("train.eval_every=%d", part(steps, 5)), "train.checkpoint_every=0",
		fmt.Sprintf("train.log_norms=%d", part(steps, 10)), fmt.Sprintf("sample.every=%d", part(steps, 4)), "sample.tokens=200",
		fmt.Sprintf("sample.prompt=%q", c.prompt),
	}, model...)
	if c.Data != "" {
		sets = append(sets, "data.source=shards", "data.split=tail/20", fmt.Sprintf("data.path=[%q]", filepath.ToSlash(c.textFolder())))
	}
	run, _, err := runconfig.Load(c.zoo, "quickstart", sets)
	return run, commandline.Usage(err)
}

// part returns the length of each of n parts of the steps; the last one may be shorter.
func part(steps, n int) int { return (steps + n - 1) / n }

// train trains one of the runs to its end, from where an earlier call has left it.
func (c *call) train(ctx context.Context, run *runconfig.Run, corpus *data.Corpus, out commandline.Output) error {
	var to trainer.Reporter = trainer.NewLines(out.Stderr, 0)
	if out.Terminal() {
		to = trainer.NewBar(out.Stderr)
	}
	o := trainer.Options{Corpus: corpus, Report: to, Resume: trainer.ResumeNone}
	if _, err := os.Stat(run.Out); err == nil { // an interrupted tour began it
		o.Resume = trainer.ResumeAuto
	}
	t, err := trainer.Open(ctx, run, o)
	if err != nil {
		return err
	}
	defer t.Close()
	result, err := t.Run(ctx)
	if err != nil {
		return err
	}
	if result.Interrupted {
		return errors.New("interrupted: the same call goes on from here")
	}
	if _, loss, err := checkpoint.Best(run.Out); err == nil && result.Final != nil && overfits(loss, result.Final.Loss) {
		out.Note(fmt.Sprintf("%s overfits: its loss on validation text was %.4f and has risen to %.4f, since it trains on the same text again and again; "+
			"the tour goes on with its best checkpoint, %s", run.Name, loss, result.Final.Loss, best(run)))
	}
	return nil
}

// overfits tells whether a loss has risen noticeably above the lowest, by 1%.
func overfits(lowest, final float64) bool { return final > 1.01*lowest }

// best returns the step folder of a run with the lowest validation loss, or the run's folder, which
// means the newest, if none was scored.
func best(run *runconfig.Run) string {
	dir, _, err := checkpoint.Best(run.Out)
	if err != nil {
		return run.Out
	}
	return dir
}

// finish writes the report and says what there is to see.
func (c *call) finish(pair [2]*runconfig.Run, stream string, out commandline.Output) error {
	runs, _, err := experiment.ReadRuns(c.zoo, []string{pair[0].Out, pair[1].Out})
	if err != nil {
		return err
	}
	file := filepath.Join(c.Out, reportFile)
	text := fmt.Sprintf("An RMT and a transformer that cost the same for each token, trained for as many steps on the same text (%s). "+
		"One seed on one text is no measurement of which is better: the command experiment trains several.\n\n"+
		"The RMT's stream is taken apart in stream/index.html.", c.text())
	if err := report.Write(file, runs, text); err != nil {
		return err
	}
	return out.Print(experiment.RunsTable(runs).Within(out.Columns()).Text() + fmt.Sprintf("files:\n  %s\n  %s\nnext:\n  %s -checkpoint %s    # the "+
		"explorer, at http://127.0.0.1:8080/\n  %s -checkpoint %s -prompt ''\n",
		file, filepath.Join(stream, "index.html"), out.Call("serve"), best(pair[0]), out.Call("generate"), best(pair[0])))
}

// text names the text.
func (c *call) text() string {
	if c.Data == "" {
		return "the source of Go's standard library"
	}
	return c.Data
}
