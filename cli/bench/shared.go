package bench

import (
	"context"
	"io"

	"github.com/residua-go/residua/experiment/bench"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/commandline"
)

// output holds the settings that say what to do with a report.
type output struct {
	Rounds int    `yaml:"rounds" default:"3" min:"1" help:"measure each model in <N> turns"`
	JSON   bool   `yaml:"json" help:"print one JSON object instead of tables"`
	Out    string `yaml:"out" help:"write the JSON object into <FILE>, anew after each row of a table"`
	saved  bool   // something has been written to Out
}

// host holds the settings for measurements that use only the CPU.
type host struct {
	Threads int `yaml:"threads" min:"0" max:"1024" help:"compute with <N> threads; 0: all cores"`
}

func (h host) target() bench.Target { return bench.Target{Threads: h.Threads, Device: graph.CPU} }

// target holds the settings that say on what device models are trained.
type target struct {
	bench.Target
	Peak float64 `yaml:"peak" min:"0" help:"on cuda: the GPU's peak in <TFLOPS>; 0: its data sheet's, known for H100, H200 and A100"`
}

// options returns a Bench's options for the target.
func (t target) options() (bench.Options, error) {
	o := bench.Options{Target: t.Target, PeakTFLOPS: t.Peak}
	err := commandline.CheckDevice(t.Device, t.Precision)
	switch {
	case err == nil && t.Device == graph.CPU && t.Peak != 0:
		err = commandline.Usagef("-peak: want it with -device %s, got the device %s", graph.CUDA, t.Device)
	case t.Device == graph.CPU && t.Precision == graph.FP32:
		o.Target.Precision = ""
	case t.Device.OnGPU() && t.Precision == "":
		o.Target.Precision = graph.TF32
	}
	return o, err
}

// use sets a Bench's peer if its Python is named.
func use[P interface {
	Check(ctx context.Context, on bench.Target) error
}](ctx context.Context, on bench.Target, python string, peer P, to *P) error {
	if python == "" {
		return nil
	}
	*to = peer
	if err := peer.Check(ctx, on); err != nil {
		return commandline.Usage(err)
	}
	return nil
}

// measurement fills some of a report's tables.
type measurement func(ctx context.Context, b *bench.Bench) error

// measure opens a Bench and prints each table when it has been measured, or as much of it as there
// is after an error. PyTorch may be nil.
func (c *output) measure(ctx context.Context, out commandline.Output, o bench.Options, torch *bench.PyTorch, svg string, tables ...measurement) error {
	if torch != nil {
		if err := use(ctx, o.Target, torch.Python, torch, &o.PyTorch); err != nil {
			return err
		}
	}
	bar := commandline.NewProgress(out, "of the benchmark")
	defer bar.End()
	o.Rounds, o.Log, o.Save, o.Progress = c.Rounds, bar, c.save, bar.Share
	b, err := bench.New(o)
	if err != nil {
		return commandline.Usage(err)
	}
	defer b.Close()
	err = c.print(ctx, b, tables, bar, out)
	if err != nil && c.saved {
		out.Note("what was measured before that is in " + c.Out)
	}
	if err == nil {
		err = b.Report().Err()
	}
	if failed := finish(b.Report(), c.JSON, svg, out); err == nil {
		err = failed
	}
	return err
}

// print makes each measurement in turn and prints its table.
func (c *output) print(ctx context.Context, b *bench.Bench, tables []measurement, bar *commandline.Progress, out commandline.Output) error {
	printed := 0
	for _, measure := range tables {
		err := measure(ctx, b)
		bar.End()
		if !c.JSON {
			if err := printFrom(&printed, b.Report(), out); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// printFrom prints the tables of a report that have not been printed yet, and the machine's
// description before the first.
func printFrom(printed *int, r *bench.Report, out commandline.Output) error {
	tables := r.Tables()
	for ; *printed < len(tables); *printed++ {
		if *printed == 0 {
			if err := out.Print(r.Machine.String()); err != nil {
				return err
			}
		}
		if err := out.Print("\n" + tables[*printed].Within(out.Columns()).Text()); err != nil {
			return err
		}
	}
	return nil
}

// finish prints the JSON object and draws the picture, if they were asked for.
func finish(r *bench.Report, asJSON bool, svg string, out commandline.Output) error {
	if asJSON {
		if err := out.PrintJSON(r); err != nil {
			return err
		}
	}
	if svg == "" || len(r.Models)+len(r.PyTorch) == 0 {
		return nil
	}
	return commandline.WriteFigure(svg, r.Picture())
}

// save writes the report to the file of -out.
func (c *output) save(r *bench.Report) error {
	if c.Out == "" {
		return nil
	}
	c.saved = true
	return commandline.WriteFile(c.Out, func(w io.Writer) error { return commandline.Output{Stdout: w}.PrintJSON(r) })
}

// ofModels makes a measurement of the given models.
func ofModels(all []bench.Workload, measure func(*bench.Bench, context.Context, []bench.Workload) error) measurement {
	return func(ctx context.Context, b *bench.Bench) error { return measure(b, ctx, all) }
}
