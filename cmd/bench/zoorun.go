package main

import (
	"context"
	"fmt"

	"github.com/residua-go/residua/internal/cli"
)

// zooResult is a residual design's cost at a shape, relative to the plain transformer's.
type zooResult struct {
	Name       string  `json:"name"`
	Shape      string  `json:"shape"`
	Batch      int     `json:"batch"`
	Seq        int     `json:"seq"`
	Parameters int     `json:"parameters"`
	Time       float64 `json:"relative_time"`     // of a step: medians of the same turns
	FLOPs      float64 `json:"relative_flops"`    // matrix products of a token
	Bytes      float64 `json:"relative_bytes"`    // what the graph's ops read and write in a step
	PeakMB     float64 `json:"peak_mb"`           // of the process
	TokensPS   float64 `json:"tokens_per_second"` // median
	Steps      int     `json:"steps"`
}

// newZooResult compares a design's process with the plain transformer's, whose seconds are
// those of the same turns.
func newZooResult(shape string, w, base workload, p *process, plain facts, plainSeconds []float64) zooResult {
	t, cost, plainCost := newTiming(w, p), w.Spec.Cost(), base.Spec.Cost()
	return zooResult{
		Name: w.Name, Shape: shape, Batch: w.Batch, Seq: w.Spec.Seq, Parameters: p.facts.Parameters,
		Time:   t.StepSeconds / median(plainSeconds),
		FLOPs:  float64(cost.TrainFLOPs()) / float64(plainCost.TrainFLOPs()),
		Bytes:  float64(p.facts.Traffic) / float64(plain.Traffic),
		PeakMB: float64(t.PeakBytes) / 1e6, TokensPS: t.TokensPS, Steps: t.Steps,
	}
}

// zoo measures the groups, the plain transformer's row first in each.
func (b *bench) zoo(ctx context.Context, groups []zooGroup) ([]zooResult, error) {
	var results []zooResult
	for _, g := range groups {
		rows, err := b.zooGroup(ctx, g)
		if err != nil {
			return nil, err
		}
		results = append(results, rows...)
	}
	return results, nil
}

// zooGroup lets each design take turns with the plain transformer, whose process lives all
// the while.
func (b *bench) zooGroup(ctx context.Context, g zooGroup) ([]zooResult, error) {
	turns := *b
	turns.schedule.steps = g.shape.steps
	b.out.Note(fmt.Sprintf("%s at %s: starting and warming up", g.base.Name, g.shape.name))
	base, err := b.own(ctx, ours, g.base, b.target)()
	if err != nil {
		return nil, err
	}
	defer base.close()
	if len(g.others) == 0 {
		if err := turns.turns(ctx, g.base.Name, base); err != nil {
			return nil, err
		}
	}
	var results []zooResult
	for _, w := range g.others {
		from := len(base.seconds)
		what := fmt.Sprintf("%s compared with %s at %s", w.Name, g.base.Name, g.shape.name)
		err := turns.besides(ctx, what, base, w, func(p *process) {
			results = append(results, newZooResult(g.shape.name, w, g.base, p, base.facts, base.seconds[from:]))
		})
		if err != nil {
			return nil, err
		}
	}
	plain := newZooResult(g.shape.name, g.base, g.base, base, base.facts, base.seconds)
	return append([]zooResult{plain}, results...), nil
}

// besides starts a workload beside a process that runs already, lets them take turns, and
// hands the new one to use before it ends it.
func (b *bench) besides(ctx context.Context, what string, running *process, w workload, use func(*process)) error {
	b.out.Note(what + ": starting and warming up")
	p, err := b.own(ctx, ours, w, b.target)()
	if err != nil {
		return err
	}
	defer p.close()
	if err := b.turns(ctx, what, running, p); err != nil {
		return err
	}
	use(p)
	return nil
}

// zooLegend explains the table.
const zooLegend = `time, FLOPs and bytes of a step are relative to the plain transformer of the same shape: the time in the turns that
both took, FLOPs of matrix products, bytes that the graph's ops read and write, each tensor of an op once; AdamW's are not counted
`

func zooTable(results []zooResult) string {
	if len(results) == 0 {
		return ""
	}
	t := cli.Table{Align: "lllrrrrrrr"}
	t.Row("residual design", "shape", "batch x seq", "parameters", "time", "FLOPs", "bytes", "tokens/s", "peak MB")
	for _, r := range results {
		t.Row(r.Name, r.Shape, fmt.Sprintf("%d x %d", r.Batch, r.Seq), fmt.Sprintf("%.2fM", float64(r.Parameters)/1e6), fmt.Sprintf("%.3f", r.Time),
			fmt.Sprintf("%.3f", r.FLOPs), fmt.Sprintf("%.3f", r.Bytes), fmt.Sprintf("%.0f", r.TokensPS), megabytes(int(r.PeakMB*1e6)))
	}
	return t.String() + zooLegend
}
