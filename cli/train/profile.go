package train

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/trainer"
)

// mostKernels is the largest number of rows in the table by kernel; the last row sums the remaining
// kernels.
const mostKernels = 60

// drawnShare is the smallest share of a step that gets a bar in the picture.
const drawnShare = 0.001

// part is a row of a profile: a type of op, or another part of a step.
type part struct {
	name                string
	calls               int
	seconds             float64
	flops, bytes        int
	alone, shared, even float64 // OpProfile.Alone, Shared, Even
}

// parts sums a profile by type of op and sorts the longest first. Seconds are totals over the
// profiled steps.
func parts(p trainer.Profile) []part {
	optimizer := part{name: "optimizer (clip, update)", calls: p.Steps, seconds: p.Optimizer, bytes: p.OptimizerBytes, alone: p.Simulated.Alone,
		shared: p.Simulated.Shared, even: p.Simulated.Even}
	rest := part{name: "rest of the step", calls: p.Steps, seconds: p.Seconds - p.Data - p.Optimizer - p.Ranks}
	byType := map[string]*part{}
	if p.Ranks > 0 {
		byType["ranks"] = &part{name: "waiting for other ranks", calls: p.Steps, seconds: p.Ranks}
	}
	for _, op := range p.Ops {
		name := op.OpType
		if name == graph.TapeMachine {
			name = "tape machine (VM)"
		}
		k := byType[name]
		if k == nil {
			k = &part{name: name}
			byType[name] = k
		}
		k.calls += op.Calls
		k.seconds += op.Seconds
		k.flops += op.FLOPs
		k.bytes += op.Bytes
		k.alone += op.Alone
		k.shared += op.Shared
		k.even += op.Even
		rest.seconds -= op.Seconds
	}
	rows := []part{optimizer, {name: "data", calls: p.Steps, seconds: p.Data}, rest}
	for _, k := range byType {
		rows = append(rows, *k)
	}
	for i := range rows {
		if r := &rows[i]; r.shared == 0 { // it uses no pool
			r.alone, r.shared, r.even = r.seconds, r.seconds, r.seconds
		}
	}
	slices.SortFunc(rows, func(a, b part) int {
		return cmp.Or(cmp.Compare(b.seconds, a.seconds), cmp.Compare(a.name, b.name))
	})
	return rows
}

// sumOf returns the row with the sums.
func sumOf(rows []part) part {
	sum := part{name: "step"}
	for _, r := range rows {
		sum.seconds += r.seconds
		sum.flops += r.flops
		sum.bytes += r.bytes
		sum.alone += r.alone
		sum.shared += r.shared
		sum.even += r.even
	}
	return sum
}

// profileTable formats the profile for reading, with the simulation of some threads unless threads
// is 0.
func profileTable(steps, threads int, rows []part) string {
	table := figure.Table{Align: "lrrrrr"}
	header := []any{"part of a step", "calls", "ms", "share", "GFLOPS", "GB/s"}
	if threads > 0 {
		table.Align += "rrr"
		header = append(header, fmt.Sprintf("%d threads: ms", threads), "balance", "of items")
	}
	table.Row(header...)
	sum := sumOf(rows)
	for _, r := range append(rows, sum) {
		calls := ""
		if r.calls > 0 {
			calls = fmt.Sprint(r.calls / steps)
		}
		row := []any{r.name, calls, fmt.Sprintf("%.3f", 1e3*r.seconds/float64(steps)), fmt.Sprintf("%.2f%%", 100*r.seconds/sum.seconds),
			speed(r.flops, r.seconds), speed(r.bytes, r.seconds)}
		if threads > 0 {
			row = append(row, fmt.Sprintf("%.3f", 1e3*r.shared/float64(steps)), percent(r.alone, float64(threads)*r.shared), percent(r.alone, float64(threads)*r.even))
		}
		table.Row(row...)
	}
	return fmt.Sprintf("profile of %d steps:\n", steps) + table.Text()
}

// kernelTable formats what a GPU did in the steps for reading.
func kernelTable(steps int, rows []graph.KernelProfile) string {
	if len(rows) > mostKernels {
		others := sumOfKernels(rows[mostKernels-1:])
		others.Name = fmt.Sprintf("%d others", len(rows)-mostKernels+1)
		rows = append(slices.Clone(rows[:mostKernels-1]), others)
	}
	table := figure.Table{Align: "lrrrrrr"}
	table.Row("kernel, product or copy", "launches", "us each", "ms", "share", "GB/s", "TFLOP/s")
	sum := sumOfKernels(rows)
	for _, r := range append(slices.Clone(rows), sum) {
		table.Row(r.Name, fmt.Sprintf("%g", math.Round(10*float64(r.Launches)/float64(steps))/10), fmt.Sprintf("%.1f", 1e6*r.Seconds/float64(max(1, r.Launches))),
			fmt.Sprintf("%.3f", 1e3*r.Seconds/float64(steps)), fmt.Sprintf("%.2f%%", 100*r.Seconds/sum.Seconds),
			speed(r.Bytes, r.Seconds), speed(r.FLOPs, 1e3*r.Seconds))
	}
	return "on the GPU, a step:\n" + table.Text()
}

func sumOfKernels(rows []graph.KernelProfile) graph.KernelProfile {
	sum := graph.KernelProfile{Name: "all"}
	for _, r := range rows {
		sum.Launches += r.Launches
		sum.Seconds += r.Seconds
		sum.FLOPs += r.FLOPs
		sum.Bytes += r.Bytes
	}
	return sum
}

// percent formats a share of a whole, "" if there is no whole.
func percent(share, whole float64) string {
	if whole <= 0 {
		return ""
	}
	return fmt.Sprintf("%.1f%%", 100*share/whole)
}

// speed formats giga-units a second, "" for a part without any.
func speed(n int, seconds float64) string {
	if n == 0 || seconds <= 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", float64(n)/seconds/1e9)
}

// profile writes the tables to out.Stderr and the picture to the run's folder.
func profile(t *trainer.Trainer, dir, name string, out commandline.Output) error {
	p := t.Profile()
	if p.Steps == 0 {
		out.Warn("-profile: want at least 2 steps, the first of which makes buffers and is not counted; there is nothing to show")
		return nil
	}
	rows := parts(p)
	text := profileTable(p.Steps, p.Threads, rows)
	if len(p.Kernels) > 0 {
		text += "\n" + kernelTable(p.Steps, p.Kernels)
	}
	if _, err := io.WriteString(out.Stderr, text); err != nil {
		return err
	}
	ms := 1e3 / float64(p.Steps)
	chart := figure.Bars{Title: fmt.Sprintf("%s: %.1f ms a step", name, p.Seconds*ms), YLabel: "ms a step", Format: "%.2f"}
	for _, r := range rows {
		if r.seconds >= drawnShare*p.Seconds {
			chart.Add(r.name, r.seconds*ms)
		}
	}
	return commandline.WriteFigure(filepath.Join(dir, trainer.ProfileFile), chart)
}
