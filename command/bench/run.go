package bench

import (
	"context"
	"io"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/experiment/bench"
	"github.com/residua-go/residua/internal/cli"
)

func (c *call) run(ctx context.Context, out cli.Output) error {
	if err := c.check(); err != nil {
		return cli.Usage(err)
	}
	if c.from != "" {
		return c.show(out)
	}
	measurements, err := c.measurements()
	if err != nil {
		return cli.Usage(err)
	}
	b, err := c.open(ctx, out)
	if err != nil {
		return cli.Usage(err)
	}
	defer b.Close()
	return c.measure(ctx, b, measurements, out)
}

// open makes what measures.
func (c *call) open(ctx context.Context, out cli.Output) (*bench.Bench, error) {
	on, err := c.target()
	if err != nil {
		return nil, err
	}
	torch, err := c.pytorch()
	if err != nil {
		return nil, err
	}
	if torch != nil {
		if err := torch.Check(ctx, on); err != nil {
			return nil, err
		}
	}
	o := bench.Options{Rounds: c.rounds, Target: on, PeakTFLOPS: c.peak, PyTorch: torch, Log: out, Save: c.save}
	if !c.designs || c.given("steps") {
		o.Steps = c.steps
	}
	b, err := bench.New(o)
	if err == nil {
		cli.WarnDevice(out, on.Device)
	}
	return b, err
}

// measurement fills some tables of a report.
type measurement func(ctx context.Context, b *bench.Bench) error

// measurements returns what the flags ask for, in order.
func (c *call) measurements() ([]measurement, error) {
	if c.designs {
		all, err := c.comparisons()
		return []measurement{func(ctx context.Context, b *bench.Bench) error { return b.Designs(ctx, all) }}, err
	}
	if c.products {
		return []measurement{func(ctx context.Context, b *bench.Bench) error { return b.Products(ctx) }}, nil
	}
	chosen, err := c.workloads()
	of := func(measure func(*bench.Bench, context.Context, []bench.Workload) error) measurement {
		return func(ctx context.Context, b *bench.Bench) error { return measure(b, ctx, chosen) }
	}
	switch {
	case c.stock:
		return []measurement{of((*bench.Bench).Stock)}, err
	case c.scaling:
		return []measurement{of((*bench.Bench).Threads)}, err
	case c.generate:
		return []measurement{of((*bench.Bench).Generation)}, err
	case c.python != "":
		return []measurement{of((*bench.Bench).Models), of((*bench.Bench).Baselines)}, err
	}
	return []measurement{of((*bench.Bench).Models)}, err
}

// measure prints each table once it has been measured, as far as that went.
func (c *call) measure(ctx context.Context, b *bench.Bench, measurements []measurement, out cli.Output) (err error) {
	printed := 0
	for _, m := range measurements {
		err = m(ctx, b)
		if !c.json {
			if err := printFrom(&printed, b.Report(), out); err != nil {
				return err
			}
		}
		if err != nil {
			break
		}
	}
	if err != nil && c.saved {
		out.Note("what was measured before that is in " + c.out)
	}
	if err == nil {
		err = b.Report().Err()
	}
	if failed := c.finish(b.Report(), out); err == nil {
		err = failed
	}
	return err
}

// printFrom prints the tables of a report that have not been printed yet, the machine before the first.
func printFrom(printed *int, r *bench.Report, out cli.Output) error {
	tables := r.Tables()
	for ; *printed < len(tables); *printed++ {
		if *printed == 0 {
			if err := out.Print(r.Machine.String()); err != nil {
				return err
			}
		}
		if err := out.Print("\n" + tables[*printed].Text()); err != nil {
			return err
		}
	}
	return nil
}

// finish prints the JSON object and draws the picture that were asked for.
func (c *call) finish(r *bench.Report, out cli.Output) error {
	if c.json {
		if err := out.PrintJSON(r); err != nil {
			return err
		}
	}
	if c.svg == "" || len(r.Models)+len(r.PyTorch) == 0 {
		return nil
	}
	return cli.WriteFigure(c.svg, r.Picture())
}

// save writes the report into the file of -out.
func (c *call) save(r *bench.Report) error {
	if c.out == "" {
		return nil
	}
	c.saved = true
	return cli.WriteFile(c.out, func(w io.Writer) error { return cli.Output{Stdout: w}.PrintJSON(r) })
}

// show prints and draws what -from names.
func (c *call) show(out cli.Output) error {
	r, err := bench.ReadReport(c.from)
	if err != nil {
		return cli.Usage(errors.WithMessage(err, "-from"))
	}
	printed := 0
	if !c.json {
		if err := printFrom(&printed, r, out); err != nil {
			return err
		}
	}
	return c.finish(r, out)
}
