package analyze

import (
	"context"
	"flag"
	"runtime"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

// analyser is a command that looks at a model.
type analyser interface {
	// flags declares what the command has beyond -checkpoint, -threads, -json and -out.
	flags(*flag.FlagSet)
	// report does the work. Its errors are the call's: of a flag, or of what it names.
	report(s *subject) (*report, error)
}

// command makes an analyser a command. The command's name is the analysis' own, as
// analysis.Supports lists it.
func command(zoo models.Zoo, c cli.Command, a analyser) cli.Command {
	model := cli.Model{Zoo: zoo}
	var d delivery
	c.Flags = func(flags *flag.FlagSet) {
		model.HostFlags(flags)
		d.flags(flags)
		a.flags(flags)
	}
	c.Run = func(ctx context.Context, out cli.Output) error {
		s, err := openSubject(&model, out)
		if err != nil {
			return err
		}
		if err := s.check(c.Name); err != nil {
			return cli.Usage(err)
		}
		if err := d.prepare(); err != nil {
			return err
		}
		defer limitCores(model.Threads)()
		r, err := await(ctx, func() (*report, error) {
			r, err := a.report(s)
			return r, cli.Usage(err)
		})
		if err != nil {
			return err
		}
		r.Analysis, r.Checkpoint, r.Stream = c.Name, model.Path, s.Spec.Stream.Name()
		return d.deliver(r, out)
	}
	return c
}

// check refuses a model whose stream lacks an analysis.
func (s *subject) check(name string) error {
	has := analysis.Supports(s.Spec)
	if slices.Contains(has, name) {
		return nil
	}
	return errors.Errorf("%s: stream %s does not have it; it has %s", name, s.Spec.Stream.Name(), strings.Join(has, ", "))
}

// limitCores bounds all that the process computes to some cores, and returns what undoes
// that. 0: all cores.
func limitCores(n int) (undo func()) {
	before := runtime.GOMAXPROCS(n)
	return func() { runtime.GOMAXPROCS(before) }
}

// await returns what f returns, or the context's error as soon as it ends: an analysis does
// not hear of an interrupt.
func await(ctx context.Context, f func() (*report, error)) (*report, error) {
	type outcome struct {
		report *report
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
	select {
	case o := <-done:
		return o.report, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
