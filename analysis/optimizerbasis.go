package analysis

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"gorgonia.org/tensor"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/check"
)

// OptimizerBasis measures what optimizers do to rotation invariance. A model without breakers
// (norms folded into the weights or gains of 1, no joint mean, no rotary positions in a
// rotated value space) and a rotated copy of it are trained side by side, in float64, on the
// same tokens. A rotation is an orthogonal map O of all weights together and leaves the loss as
// it is, so that the gradient at O w is O times the gradient at w, and
//
//	SGD:  O w - rate O g = O (w - rate g)           the two stay each other's rotation
//	Adam: divides by sqrt(v), entry by entry       they part: a basis becomes privileged
//
// (Elhage, Lasenby & Olah 2023, "Privileged Bases in the Transformer Residual Stream").
type OptimizerBasis struct {
	Stream string         `json:"stream"`
	Space  string         `json:"space"`
	Norm   string         `json:"norm"`
	Steps  int            `json:"steps"`
	Runs   []OptimizerRun `json:"runs"`
}

// OptimizerRun holds the training with one optimizer; entry s of its lists is the value after s
// steps.
type OptimizerRun struct {
	Optimizer string  `json:"optimizer"`
	Rate      float64 `json:"rate"`
	// Deviation is max |logits' - logits| / max |logits|, where logits' are the rotated copy's.
	Deviation []float64 `json:"deviation"`
	Loss      []float64 `json:"loss"`    // cross-entropy of the model, in nats
	Rotated   []float64 `json:"rotated"` // cross-entropy of the rotated copy
}

// OptimizerOptions say how CompareOptimizers trains.
type OptimizerOptions struct {
	RotationOptions     // what is rotated
	Steps           int // 0: 20
	Threads         int // that compute an op; 0: one for each core
}

// CompareOptimizers trains on the next tokens of one row of ids, which is the same at each step,
// with four optimizers: plain SGD with the norms' gains held at 1; SGD that also trains the gains,
// whose entries depend on the basis; Adam (betas .9, .95) and AdamW (decay .1) with gains held.
func CompareOptimizers(ctx context.Context, store *graph.Store, spec models.Spec, ids []int32, o OptimizerOptions) (*OptimizerBasis, error) {
	if err := o.resolve(spec, ids); err != nil {
		return nil, err
	}
	model, spec, err := withoutBreakers(store, spec, &o.RotationOptions)
	if err != nil {
		return nil, err
	}
	b := &OptimizerBasis{Stream: spec.Stream.Name(), Space: o.Space, Norm: spec.Norm, Steps: o.Steps}
	for _, t := range trainings() {
		run, err := t.run(ctx, model, spec, ids, o)
		if err != nil {
			return nil, err
		}
		b.Runs = append(b.Runs, run)
	}
	return b, nil
}

func (o *OptimizerOptions) resolve(spec models.Spec, ids []int32) (err error) {
	if err := CheckRotatable(spec); err != nil {
		return err
	}
	if o.Space, err = spaceOf(spec, o.Space); err != nil {
		return err
	}
	if len(ids) < 2 {
		return check.Value("ids", "at least 2, one to predict", len(ids))
	}
	for _, id := range ids {
		if err := check.Index("token id", int(id), spec.Vocab); err != nil {
			return err
		}
	}
	o.Steps = cmp.Or(o.Steps, 20)
	return check.AtLeast("optimizers: steps", 1, o.Steps)
}

// withoutBreakers returns a copy of a model, in float64, whose function does not change under any
// rotation that o allows.
func withoutBreakers(store *graph.Store, spec models.Spec, o *RotationOptions) (*graph.Store, models.Spec, error) {
	if err := models.CheckStore(store); err != nil {
		return nil, spec, err
	}
	spec = withoutDropout(spec)
	wide, err := copyModelAs(store, spec, tensor.Float64)
	if err != nil {
		return nil, spec, err
	}
	t := trial{folded: rotatesVectors(spec), rope: o.Space == SpaceKey}
	model, spec, err := t.prepare(wide, spec)
	o.KeepOnes = o.KeepOnes || t.keepOnes
	return model, spec, err
}

// withoutDropout returns the model without dropout.
func withoutDropout(spec models.Spec) models.Spec {
	spec, _ = spec.With(func(c *models.Config) { c.Dropout = 0 }) // no error: every model may have no dropout
	return spec
}

// Table shows the deviation after some of the steps.
func (b *OptimizerBasis) Table() figure.Table {
	t := figure.NewTable(b.title(), "lr", "optimizer", "rate")
	for _, s := range b.shown() {
		t.Header, t.Align = append(t.Header, fmt.Sprintf("step %d", s)), t.Align+"r"
	}
	for _, r := range b.Runs {
		row := []any{r.Optimizer, r.Rate}
		for _, s := range b.shown() {
			row = append(row, fmt.Sprintf("%.2g", r.Deviation[s]))
		}
		t.Row(row...)
	}
	return t
}

// shown are the steps in the table.
func (b *OptimizerBasis) shown() []int {
	return slices.Compact([]int{0, min(1, b.Steps), (b.Steps + 1) / 2, b.Steps})
}

func (b *OptimizerBasis) title() string {
	return fmt.Sprintf("Deviation of the logits between a model and its rotation (%s stream, space %s) trained side by side", b.Stream, b.Space)
}

// Figures are the deviations and the losses by step.
func (b *OptimizerBasis) Figures() []figure.Figure {
	apart := figure.Lines{Title: b.title(), XLabel: "step", YLabel: "relative deviation of the logits", LogY: true}
	losses := figure.NewLines("Losses of the two", "step", "cross-entropy (nats)")
	for _, r := range b.Runs {
		x := make([]float64, len(r.Deviation))
		for i := range x {
			x[i] = float64(i)
		}
		apart.Series = append(apart.Series, figure.Series{Name: r.Optimizer, X: x, Y: r.Deviation})
		losses.Series = append(losses.Series, figure.Series{Name: r.Optimizer, X: x, Y: r.Loss},
			figure.Series{Name: r.Optimizer + ", rotated", X: x, Y: r.Rotated})
	}
	return []figure.Figure{apart, losses}
}
