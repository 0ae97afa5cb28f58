package analyze

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/analysis/report"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/settings"
	"github.com/residua-go/residua/models"
)

// command makes a command of an analysis; the analysis' settings become its flags. listed is the
// error, if any, in the list that the analysis comes from.
func command(zoo models.Zoo, a report.Analysis, listed error) commandline.Command {
	from, of, cores, d, card := &commandline.Checkpoint{Zoo: zoo}, &over{}, &commandline.Cores{}, &delivery{name: a.Name()}, a.Card()
	a = settings.Settable(a)
	c := commandline.Command{Name: d.name, Summary: card.Summary, Example: card.Example, Notes: card.Notes, Settings: commandline.Several{from, of, cores, a, d}}
	switch _, err := report.Follow(zoo, a); {
	case card.Paper:
		c.Settings = commandline.Several{a, d}
	case err != nil:
		c.Settings = commandline.Several{from, cores, a, d}
		c.Unknown = func(flag string) string { return map[string]string{"over": err.Error()}[flag] }
	}
	c.Run = func(ctx context.Context, out commandline.Output) error {
		if listed != nil {
			return commandline.Usage(listed)
		}
		if of.Run != "" && from.Path != "" {
			return commandline.Usagef("-over: want a run, or one model (-checkpoint), got both")
		}
		var m *report.Model
		if !card.Paper && of.Run == "" {
			model := commandline.Model{Checkpoint: *from, Place: commandline.Place{Cores: *cores}}
			opened, err := model.OpenModel(out)
			if err != nil {
				return err
			}
			if m, err = report.Of(opened); err != nil {
				return commandline.Usage(err)
			}
			m.Note, m.Done = out.Note, func(done, total int) { d.share.Store(&[2]int{done, total}) }
		}
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores.Threads)) // restore the current value; 0 leaves it unchanged
		return d.deliver(ctx, out, func() (*report.Report, error) {
			var r *report.Report
			var err error
			if of.Run != "" {
				r, err = report.Over(ctx, zoo, of.Run, a, d.Dir)
			} else {
				r, err = report.Run(ctx, m, a)
			}
			return r, commandline.Usage(c.OfFlag(err))
		})
	}
	return c
}

// over holds the flag that names a run: the analysis is repeated over the steps of its training.
type over struct {
	Run string `yaml:"over" help:"follow the analysis over the steps that run <RUN> kept by train.keep_log; with -out, a repeated call measures new steps alone"`
}

// delivery holds the flags that say where to write an analysis' report.
type delivery struct {
	name  string                 // the analysis' name
	share atomic.Pointer[[2]int] // how much of the work is done, and how much there is; nil: it is not known

	JSON bool   `yaml:"json" help:"write one JSON document instead of tables"`
	Dir  string `yaml:"out" help:"write a page (index.html), figures (SVG, PNG) and tables (CSV, Markdown) to folder <DIR>"`
}

// deliver runs work and writes its report to where the flags say.
func (d *delivery) deliver(ctx context.Context, out commandline.Output, work func() (*report.Report, error)) error {
	if d.Dir != "" { // before the work starts, so that it is not done in vain
		if err := os.MkdirAll(d.Dir, 0o777); err != nil {
			return commandline.Usagef("-out: want a folder that can be made: %v", err)
		}
	}
	progress := commandline.NewProgress(out, d.name)
	r, err := await(ctx, func() {
		if share := d.share.Load(); share != nil {
			progress.Show(share[0], share[1])
		} else {
			progress.Tick()
		}
	}, work)
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

// await returns what f returns, or the context's error as soon as the context ends, because an
// analysis does not watch for interrupts. Meanwhile it calls tick twice a second.
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
