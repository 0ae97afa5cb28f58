package report

import (
	"context"
	"fmt"

	"github.com/residua-go/residua/analysis"
)

// Rotation measures how far logits move when the stream is rotated. Its fields say how many
// rotations, and for how many steps models are trained after that.
type Rotation struct {
	Prompt
	analysis.RotationReportOptions
	Steps int `yaml:"steps" default:"10" min:"0" max:"1000000" help:"train both models for <N> steps with each optimizer; 0: don't"`
}

// Name is rotation.
func (Rotation) Name() string { return "rotation" }

// Card describes Rotation.
func (Rotation) Card() Card {
	return Card{
		Summary: "how far logits move when the stream is rotated, and what optimizers do to that",
		Example: `
			analyze rotation -checkpoint runs/quickstart
			analyze rotation -checkpoint runs/quickstart -seeds 5 -steps 50 -out /tmp/rotation`,
		Notes: `
			The stream is rotated by random orthogonal matrices, folded into the weights; what breaks
			the invariance is measured, one cause at a time. Then the model and a rotated copy are
			trained on the same tokens, at most 16.`,
		Needs: analysis.CheckRotatable,
	}
}

// optimizerTokens is the largest number of tokens that models are trained on, of which the last is
// only predicted. In float64, whose products are plain loops, the eight gradients of a step take
// most of the time, and few tokens are enough to show the effect.
const optimizerTokens = 17

// Run reports how far logits move when the stream is rotated and, with Steps, what optimizers
// do to a model and its rotated copy.
func (o Rotation) Run(ctx context.Context, m *Model) (*Report, error) {
	ids, err := o.Prompt.Read(m, 2)
	if err != nil {
		return nil, err
	}
	r := m.NewReport("Rotation of the stream", ids)
	r.part("rotation", "Rotations folded into the weights", "How far the logits move when the stream is rotated and the weights with it: not at all but "+
		"for rounding, unless something has a basis of its own.")(analysis.MeasureRotation(ctx, m.Store, m.Spec, ids, o.RotationReportOptions))
	if o.Steps == 0 || r.err != nil {
		return r, r.err
	}
	ids = ids[:min(len(ids), optimizerTokens)]
	r.part("optimizers", "Optimizers", fmt.Sprintf("A model without what breaks the invariance and a rotated copy are trained on the same %d tokens. "+
		"Under plain gradient descent they stay each other's rotation; coordinate-wise optimizers make a basis special.", len(ids)-1))(
		analysis.CompareOptimizers(ctx, m.Store, m.Spec, ids, analysis.OptimizerOptions{RotationOptions: analysis.RotationOptions{Seed: o.Seed}, Steps: o.Steps}))
	return r, r.err
}
