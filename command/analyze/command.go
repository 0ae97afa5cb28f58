package analyze

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/analysis/report"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

// command makes a command of the function that writes an analysis' report of a model. bind declares
// the function's options as flags. The command's name is the analysis' own, as analysis.Supports
// lists it.
func command[O any](zoo models.Zoo, c cli.Command, write func(*report.Model, O) (*report.Report, error), bind func(*flag.FlagSet, *O)) cli.Command {
	model := cli.Model{Zoo: zoo}
	var d delivery
	var options O
	c.Flags = func(flags *flag.FlagSet) {
		model.HostFlags(flags)
		d.flags(flags)
		bind(flags, &options)
	}
	c.Run = func(ctx context.Context, out cli.Output) error {
		opened, err := model.OpenModel(out)
		if err != nil {
			return err
		}
		m, err := report.Of(ctx, opened)
		if err != nil {
			return cli.Usage(err)
		}
		if err := analysis.CheckSupport(c.Name, m.Spec); err != nil {
			return cli.Usage(err)
		}
		defer limitCores(model.Threads)()
		return d.deliver(ctx, out, func() (*report.Report, error) {
			r, err := write(m, options)
			return r, cli.Usage(err)
		})
	}
	return c
}

// limitCores bounds all that the process computes to some cores, and returns what undoes
// that. 0: all cores.
func limitCores(n int) (undo func()) {
	before := runtime.GOMAXPROCS(n)
	return func() { runtime.GOMAXPROCS(before) }
}

// delivery is the flags that say where a report goes.
type delivery struct {
	json  bool
	dir   string
	known *flag.FlagSet
}

func (d *delivery) flags(flags *flag.FlagSet) {
	d.known = flags
	flags.BoolVar(&d.json, "json", false, "write one JSON document in the place of tables")
	flags.StringVar(&d.dir, "out", "", "write a page ("+report.PageFile+"), figures (SVG, PNG) and tables (CSV, Markdown) to folder `DIR`")
}

// deliver writes what work reports to where the flags say.
func (d *delivery) deliver(ctx context.Context, out cli.Output, work func() (*report.Report, error)) error {
	if d.dir != "" { // before any work
		if err := os.MkdirAll(d.dir, 0o777); err != nil {
			return cli.Usagef("-out: want a folder that can be made: %v", err)
		}
	}
	progress := cli.NewProgress(out, strings.TrimPrefix(d.known.Name(), "analyze "))
	r, err := await(ctx, progress.Tick, work)
	progress.End()
	if err != nil {
		return d.ofFlag(err)
	}
	if d.dir != "" {
		if err := r.Write(d.dir); err != nil {
			return err
		}
		out.Note("the page is " + filepath.Join(d.dir, report.PageFile))
	}
	if d.json {
		return out.PrintJSON(r)
	}
	return out.Print(r.String())
}

// ofFlag is an error about an option, which is called by its flag.
func (d *delivery) ofFlag(err error) error {
	name, _, _ := strings.Cut(err.Error(), ":")
	if d.known.Lookup(name) == nil {
		return err
	}
	return cli.Usage(fmt.Errorf("-%w", err))
}

// await returns what f returns, or the context's error as soon as it ends: an analysis does
// not hear of an interrupt. It calls tick twice a second meanwhile.
func await(ctx context.Context, tick func(), f func() (*report.Report, error)) (*report.Report, error) {
	type outcome struct {
		report *report.Report
		err    error
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if r := recover(); r != nil {
				o.err = errors.Errorf("internal error: %v", r)
			}
			done <- o
		}()
		o.report, o.err = f()
	}()
	ticker := time.NewTicker(time.Second / 2)
	defer ticker.Stop()
	for {
		select {
		case o := <-done:
			return o.report, o.err
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-ticker.C:
			tick()
		}
	}
}
