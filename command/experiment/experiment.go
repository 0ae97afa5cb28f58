// Package experiment is the command that plans, trains and reports experiments of many runs.
package experiment

import (
	"context"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/experiment"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

// Command makes experiments on models of a zoo.
func Command(zoo models.Zoo) cli.Command {
	c := call{zoo: zoo}
	return cli.Command{
		Name:    "experiment",
		Summary: "train many runs by one config: scaling laws, sweeps, variants with error bars, random searches",
		Example: []string{
			"experiment -plan experiments/variants.yaml      # the runs, and what they will take; nothing is trained",
			"experiment experiments/variants.yaml            # trains them, one a core, and reports; call again to go on",
			"experiment -report experiments/variants.yaml    # tables and picture again, from the log alone",
		},
		Notes: []string{
			"An experiment's folder holds log.jsonl (a line a complete run), report.md, report.svg, and a folder a run in runs/.",
			"A run in the log is not made again, even if its folder is gone; one that was cut short goes on from its checkpoint.",
			"The report is made of the config and log.jsonl alone. docs/experiments.md has examples; -keys explains the config's keys.",
		},
		Flags:    c.flags,
		Operands: &cli.Operands{Name: "CONFIG", Usage: "the YAML file of the experiment", Values: &c.files},
		Run:      c.run,
	}
}

// call is what the flags ask for.
type call struct {
	zoo                                models.Zoo
	files                              []string
	plan, report, json, keys, markdown bool
	out                                string
	jobs                               int
	stopAfter                          time.Duration
}

func (c *call) run(ctx context.Context, out cli.Output) error {
	switch {
	case c.keys && len(c.files) == 0:
		return c.listKeys(out)
	case c.keys:
		return cli.Usagef("-keys: want no config with it, got %s", c.files[0])
	case len(c.files) != 1:
		return cli.Usagef("want the config of one experiment, or -keys, got %d configs", len(c.files))
	case c.plan && c.report:
		return cli.Usagef("want -plan or -report, got both")
	case c.jobs < 0:
		return cli.Usagef("-jobs: want >= 0, got %d", c.jobs)
	case c.stopAfter < 0:
		return cli.Usagef("-stop-after: want >= 0, got %s", c.stopAfter)
	}
	e, err := experiment.Load(c.files[0])
	if err != nil {
		return usage(err)
	}
	if c.out == "" {
		c.out = strings.TrimSuffix(c.files[0], filepath.Ext(c.files[0]))
	}
	plan, err := e.Plan(ctx, c.zoo, c.out)
	if err != nil {
		return usage(err)
	}
	if c.report {
		log, err := plan.Log()
		if err != nil {
			return usage(err)
		}
		return c.show(e, log, out)
	}
	if c.plan {
		return c.predict(ctx, plan, out)
	}
	log, err := plan.Train(ctx, experiment.Options{Jobs: c.jobCount(), StopAfter: c.stopAfter, Note: out.Note})
	if err != nil {
		return usage(err)
	}
	return c.show(e, log, out)
}

// jobCount is -jobs.
func (c *call) jobCount() int {
	if c.jobs == 0 {
		return runtime.GOMAXPROCS(0)
	}
	return c.jobs
}

// predict is -plan.
func (c *call) predict(ctx context.Context, plan *experiment.Plan, out cli.Output) error {
	p, err := plan.Predict(ctx, c.jobCount())
	if err != nil {
		return usage(err)
	}
	if c.json {
		return out.PrintJSON(p)
	}
	return out.Print(p.Text())
}

// The files of a report.
const (
	page    = "report.md"
	picture = "report.svg"
)

// show writes the report of a log, and prints it.
func (c *call) show(e *experiment.Config, log []experiment.Record, out cli.Output) error {
	r := e.Report(log)
	if r.Done == 0 {
		return cli.Usagef("%s: want complete runs of %s in log.jsonl, got none: train them by the same call without -report", c.out, e.Name)
	}
	call := out.Call("experiment -report " + filepath.ToSlash(c.files[0]))
	if c.out != strings.TrimSuffix(c.files[0], filepath.Ext(c.files[0])) {
		call += " -out " + filepath.ToSlash(c.out)
	}
	if err := cli.WriteFigure(filepath.Join(c.out, picture), r.Picture); err != nil {
		return err
	}
	write := func(w io.Writer) error { _, err := io.WriteString(w, r.Markdown(picture, call)); return err }
	if err := cli.WriteFile(filepath.Join(c.out, page), write); err != nil {
		return err
	}
	if c.json {
		return out.PrintJSON(r)
	}
	return out.Print(r.Text() + "files:\n  " + filepath.Join(c.out, page) + "\n  " + filepath.Join(c.out, picture) + "\n")
}

// usage makes an error that was found before anything was trained one of the call.
func usage(err error) error {
	if setup := (*experiment.SetupError)(nil); errors.As(err, &setup) {
		return cli.Usage(err)
	}
	return err
}
