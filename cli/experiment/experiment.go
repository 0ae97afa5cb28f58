// Package experiment holds the command that plans, trains and reports experiments of many runs.
package experiment

import (
	"context"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/residua-go/residua/experiment"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/models"
)

// Command returns the command for experiments on models of a zoo.
func Command(zoo models.Zoo) commandline.Command {
	c := &call{zoo: zoo}
	return commandline.Command{
		Name:    "experiment",
		Summary: "train many runs by one config: scaling laws, sweeps, variants with error bars, random searches, cards of all designs, muP's coordinates",
		Example: `
			experiment -plan studies/variants.yaml      # the runs, and what they will take; nothing is trained
			experiment studies/variants.yaml            # trains them, one a core, and reports; call again to go on
			experiment -report studies/variants.yaml    # tables and picture again, from the log alone`,
		Notes: `
			An experiment's folder holds log.jsonl (a line a complete run), base.yaml (the config that all start from, as it was when the
			experiment began), report.md, report.svg, and a folder a run in runs/.
			A run in the log is not made again, even if its folder is gone; one that was cut short goes on from its checkpoint.
			The report is made of the config and log.jsonl alone. docs/experiments.md has examples; -keys explains the config's keys.`,
		Settings: c,
		Run:      c.run,
	}
}

// call holds the arguments of a call.
type call struct {
	zoo models.Zoo

	File      string   `yaml:"config" arg:"CONFIG" help:"the YAML file of the experiment"`
	Sets      []string `yaml:"set" help:"override a key of the experiment's config: <key=value>, such as seeds=1; may be repeated"`
	Plan      bool     `yaml:"plan" help:"print the runs with their predicted cost and time, and train nothing"`
	Report    bool     `yaml:"report" help:"make the report from the log again, and train nothing"`
	Out       string   `yaml:"out" help:"keep log, report and runs in <DIR>; without, CONFIG without its extension"`
	Jobs      int      `yaml:"jobs" min:"0" help:"train <N> runs side by side; 0: one for each core. The number changes no bit of a loss"`
	Only      []string `yaml:"only" split:"," help:"train the series <A,B> alone; the report shows what is complete of the others"`
	StopAfter period   `yaml:"stop_after" min:"0" help:"start no run after <TIME>, as in 3h; the next call goes on; 0: never stop"`
	JSON      bool     `yaml:"json" help:"print one line of JSON instead of tables"`
	Keys      bool     `yaml:"keys" help:"explain every key of an experiment's config"`
	Markdown  bool     `yaml:"markdown" help:"with -keys: as the page docs/experiment-config.md"`
}

func (c *call) run(ctx context.Context, out commandline.Output) error {
	switch {
	case c.Keys && c.File == "":
		return listKeys(c.zoo, c.Markdown, out)
	case c.Keys:
		return commandline.Usagef("-keys: want no config with it, got %s", c.File)
	case c.File == "":
		return commandline.Usagef("want the config of one experiment, or -keys, got none")
	case c.Plan && c.Report:
		return commandline.Usagef("want -plan or -report, got both")
	case c.folder() == "" || c.folder() == c.File:
		return commandline.Usagef("-out: want a folder, since CONFIG without its extension names none, got none for %s", c.File)
	}
	return c.experiment(ctx, out)
}

// experiment plans, trains or reports, as the flags say.
func (c *call) experiment(ctx context.Context, out commandline.Output) error {
	e, err := experiment.Load(experiment.Kinds(c.zoo), c.File, c.Sets)
	if err != nil {
		return err
	}
	plan, err := e.Plan(ctx, c.zoo, c.folder())
	if err != nil {
		return err
	}
	for _, note := range plan.Notes {
		out.Note(note)
	}
	if c.Jobs == 0 {
		c.Jobs = runtime.GOMAXPROCS(0)
	}
	switch {
	case c.Plan:
		return c.predict(ctx, plan, out)
	case !c.Report:
		err = c.train(ctx, plan, out)
	}
	if err != nil {
		return err
	}
	return c.show(plan, out)
}

// train makes the runs, and shows on a terminal how far they are.
func (c *call) train(ctx context.Context, plan *experiment.Plan, out commandline.Output) error {
	var mu sync.Mutex // runs report from goroutines of their own
	bar := commandline.NewProgress(out, "of the experiment")
	defer bar.End()
	return plan.Train(ctx, experiment.Options{Jobs: c.Jobs, Only: c.Only, StopAfter: time.Duration(c.StopAfter),
		Note: func(news string) {
			mu.Lock()
			defer mu.Unlock()
			bar.Note(news)
		},
		Progress: func(share float64) {
			mu.Lock()
			defer mu.Unlock()
			bar.Share(share)
		},
	})
}

// folder returns the experiment's folder.
func (c *call) folder() string {
	if c.Out == "" {
		return strings.TrimSuffix(c.File, filepath.Ext(c.File))
	}
	return c.Out
}

// predict carries out -plan.
func (c *call) predict(ctx context.Context, plan *experiment.Plan, out commandline.Output) error {
	p, err := plan.Predict(ctx, c.Jobs, c.Only...)
	if err != nil {
		return err
	}
	if c.JSON {
		return out.PrintJSON(p)
	}
	p.Summary = p.Summary.Within(out.Columns())
	return out.Print(p.Text())
}

// show writes the report and prints it.
func (c *call) show(plan *experiment.Plan, out commandline.Output) error {
	r, err := plan.Report()
	if err != nil {
		return err
	}
	switch {
	case r.Picture == nil && r.Done > 0 && !c.Report: // it was stopped, and goes on with the next call
		out.Note("no results yet: the runs so far look for rates")
		return nil
	case r.Picture == nil:
		return commandline.Usagef("%s: want complete runs of %s in log.jsonl, besides those that look for rates, got none: train first, by the same "+
			"call without -report", c.folder(), r.Name)
	}
	page, log := plan.Config.Page, filepath.ToSlash(filepath.Join(c.folder(), "log.jsonl"))
	if page == "" {
		page, log = filepath.Join(c.folder(), "report.md"), "log.jsonl"
	}
	picture := strings.TrimSuffix(page, filepath.Ext(page)) + ".svg"
	if err := commandline.WriteFigure(picture, r.Picture); err != nil {
		return err
	}
	write := func(w io.Writer) error {
		_, err := io.WriteString(w, r.Markdown(log, filepath.Base(picture), out.Call(c.call())))
		return err
	}
	if err := commandline.WriteFile(page, write); err != nil {
		return err
	}
	if c.JSON {
		return out.PrintJSON(r)
	}
	for i, table := range r.Tables {
		r.Tables[i] = table.Within(out.Columns())
	}
	return out.Print(r.Text() + "files:\n  " + page + "\n  " + picture + "\n")
}

// call returns the command line that writes the report again.
func (c *call) call() string {
	text := "experiment -report " + filepath.ToSlash(c.File)
	if c.Out != "" {
		text += " -out " + filepath.ToSlash(c.Out)
	}
	for _, set := range c.Sets {
		text += " -set '" + set + "'"
	}
	return text
}

// period is a time in Go's notation, such as 3h.
type period time.Duration

// UnmarshalText parses a time.
func (p *period) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	*p = period(d)
	return err
}
