package analyze

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/analysis/report"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

// command makes a command of the function that writes an analysis' report of a model. The function's options are
// flags, and so are more settings. The command's name is the analysis' own, as analysis.Supports lists it.
func command[O any](zoo models.Zoo, c cli.Command, write func(*report.Model, O) (*report.Report, error), more ...any) cli.Command {
	from, cores, options, d := &cli.Checkpoint{Zoo: zoo}, &cli.Cores{}, new(O), &delivery{name: c.Name}
	c.Settings = append(append(cli.Several{from, cores, options}, more...), d)
	c.Run = func(ctx context.Context, out cli.Output) error {
		model := cli.Model{Checkpoint: *from, Place: cli.Place{Cores: *cores}}
		opened, err := model.OpenModel(out)
		if err != nil {
			return err
		}
		m, err := report.Of(ctx, opened)
		if err != nil {
			return cli.Usage(err)
		}
		if err := analysis.CheckSupport(d.name, m.Spec); err != nil {
			return cli.Usage(err)
		}
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores.Threads)) // back to what it is now; 0 leaves it as it is
		return d.deliver(ctx, out, func() (*report.Report, error) {
			r, err := write(m, *options)
			return r, cli.Usage(c.OfFlag(err))
		})
	}
	return c
}

// delivery is the flags that say where a report of an analysis goes.
type delivery struct {
	name string // the analysis'

	JSON bool   `yaml:"json" help:"write one JSON document instead of tables"`
	Dir  string `yaml:"out" help:"write a page (index.html), figures (SVG, PNG) and tables (CSV, Markdown) to folder <DIR>"`
}

// deliver writes what work reports to where the flags say.
func (d *delivery) deliver(ctx context.Context, out cli.Output, work func() (*report.Report, error)) error {
	if d.Dir != "" { // before any work
		if err := os.MkdirAll(d.Dir, 0o777); err != nil {
			return cli.Usagef("-out: want a folder that can be made: %v", err)
		}
	}
	progress := cli.NewProgress(out, d.name)
	r, err := await(ctx, progress.Tick, work)
	progress.End()
	if err != nil {
		return err
	}
	if d.Dir != "" {
		if err := r.Write(d.Dir); err != nil {
			return err
		}
		out.Note("the page is " + filepath.Join(d.Dir, report.PageFile))
	}
	if d.JSON {
		return out.PrintJSON(r)
	}
	return out.Print(r.String())
}

// await returns what f returns, or the context's error as soon as it ends: an analysis does
// not hear of an interrupt. It calls tick twice a second meanwhile.
func await(ctx context.Context, tick func(), f func() (*report.Report, error)) (*report.Report, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var found *report.Report
	done := make(chan error, 1)
	go func() {
		var err error
		defer func() {
			if r := recover(); r != nil {
				err = errors.Errorf("internal error: %v", r)
			}
			done <- err
		}()
		found, err = f()
	}()
	ticker := time.NewTicker(time.Second / 2)
	defer ticker.Stop()
	for {
		select {
		case err := <-done:
			return found, err
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-ticker.C:
			tick()
		}
	}
}
