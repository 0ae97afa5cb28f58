package analysis

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
)

// The breakers of rotation invariance: what gives a stream a privileged basis.
const (
	BreakerNone   = "none"       // RMSNorm, gains of 1, no rotary positions
	BreakerMean   = "joint mean" // which LayerNorm subtracts: one over all entries
	BreakerGains  = "gains"      // learned gains of the norms
	BreakerRoPE   = "rope"       // rotary positions, which rotate pairs of a head's entries
	BreakerAll    = "as trained"
	BreakerFolded = "folded" // as trained, but with the norms folded into the weights first
)

// RotationReport says how far the logits move when the weights of a model are rotated by random
// orthogonal matrices. Each breaker is measured alone, on a copy of the model without the others
// (gains set to 1, norm set to RMSNorm, positions to none).
type RotationReport struct {
	Stream string        `json:"stream"`
	DType  string        `json:"dtype"` // of the weights: exact is to its rounding
	Seeds  int           `json:"seeds"` // rotations a row
	Tokens int           `json:"tokens"`
	Rows   []RotationRow `json:"rows"`
}

// RotationRow is the deviation for one space and breaker: max |logits' - logits| / max
// |logits| over all tokens and ids.
type RotationRow struct {
	Space    string  `json:"space"`
	Breaker  string  `json:"breaker"`
	Norm     string  `json:"norm"`      // of the model measured
	KeepOnes bool    `json:"keep_ones"` // the rotations leave the vector of ones where it is
	Worst    float64 `json:"worst"`     // over the seeds
	Mean     float64 `json:"mean"`
}

// RotationReportOptions say how MeasureRotation measures.
type RotationReportOptions struct {
	Seeds int    `yaml:"seeds" default:"3" min:"1" max:"1000000" help:"try <N> rotations"` // 0: 3
	Seed  uint64 `yaml:"seed" default:"1" help:"seed the first rotation with <N>"`
}

// MeasureRotation measures every space of the stream and every breaker that the model may have, on
// one row of token ids. A LayerNorm's mean is removed by making it an RMSNorm. A model with biases,
// which an RMSNorm lacks, keeps the mean and is rotated about the vector of ones instead (see Norm
// and KeepOnes of a row).
func MeasureRotation(ctx context.Context, store *graph.Store, spec models.Spec, ids []int32, o RotationReportOptions) (*RotationReport, error) {
	if err := CheckRotatable(spec); err != nil {
		return nil, err
	}
	if o.Seeds < 0 {
		return nil, check.Value("seeds", "at least 1, or 0 for 3", o.Seeds)
	}
	o.Seeds = cmp.Or(o.Seeds, 3)
	if err := models.CheckStore(store); err != nil {
		return nil, err
	}
	r := &RotationReport{Stream: spec.Stream.Name(), DType: store.DType().Name(), Seeds: o.Seeds, Tokens: len(ids)}
	for _, t := range trialsOf(spec) {
		if err := r.add(ctx, t, store, spec, ids, o.Seed); err != nil {
			return nil, err
		}
	}
	spaces := spacesOf(spec)
	slices.SortStableFunc(r.Rows, func(a, b RotationRow) int {
		return slices.Index(spaces, a.Space) - slices.Index(spaces, b.Space)
	})
	return r, nil
}

// trial is a model whose deviation is measured: the breakers that it keeps, and how it is rotated.
type trial struct {
	breaker           string
	mean, gains, rope bool // breakers that stay
	keepOnes, folded  bool
}

// trialsOf lists the trials that a model's breakers allow.
func trialsOf(spec models.Spec) []trial {
	all := []trial{{breaker: BreakerNone}}
	if spec.Norm == models.NormLayer {
		all = append(all, trial{breaker: BreakerMean, mean: true})
		if !spec.Bias { // with biases it would equal the first trial
			all = append(all, trial{breaker: BreakerMean, mean: true, keepOnes: true})
		}
	}
	all = append(all, trial{breaker: BreakerGains, gains: true})
	if spec.Attention.Positions == models.PositionsRoPE {
		all = append(all, trial{breaker: BreakerRoPE, rope: true})
	}
	all = append(all, trial{breaker: BreakerAll, mean: true, gains: true, rope: true})
	if rotatesVectors(spec) {
		all = append(all, trial{breaker: BreakerFolded, folded: true})
	}
	return all
}

// prepare makes the model that is measured.
func (t *trial) prepare(original *graph.Store, spec models.Spec) (*graph.Store, models.Spec, error) {
	if t.folded {
		t.keepOnes = keepsLayerNorm(spec)
		return foldNorms(original, spec)
	}
	layerNorm := !t.mean && spec.Norm == models.NormLayer
	if layerNorm {
		t.keepOnes = spec.Bias
	}
	spec, err := spec.With(func(c *models.Config) {
		if layerNorm && !c.Bias {
			c.Norm = models.NormRMS
		}
		if !t.rope && c.Attention.Positions == models.PositionsRoPE {
			a := &c.Attention
			a.Positions, a.RopeBase, a.RopeScaling, a.RopePart, a.NoRope = models.PositionsNone, 0, layers.RopeScaling{}, 0, nil
		}
	})
	if err != nil {
		return nil, spec, err
	}
	store, err := copyModel(original, spec)
	if err == nil && !t.gains {
		resetGains(store)
	}
	return store, spec, err
}

// resetGains sets all gains of norms to 1.
func resetGains(store *graph.Store) {
	for _, p := range store.Params() {
		if lastPart(p.Name) == "norm" {
			graph.SetFloat64s(p.Value, slices.Repeat([]float64{1}, p.Size()))
		}
	}
}

// add measures a trial in all spaces.
func (r *RotationReport) add(ctx context.Context, t trial, store *graph.Store, spec models.Spec, ids []int32, seed uint64) error {
	model, spec, err := t.prepare(store, spec)
	if err != nil {
		return err
	}
	rotated, _ := copyModel(model, spec) // which prepare has made of c
	runner, err := cache.ForRow(rotated, spec, ids)
	if err != nil {
		return err
	}
	defer runner.Close()
	logits, err := finiteLogits(runner, ids)
	if err != nil {
		return err
	}
	for _, space := range spacesOf(spec) {
		row := RotationRow{Space: space, Breaker: t.breaker, Norm: spec.Norm, KeepOnes: t.keepOnes}
		for i := range r.Seeds {
			if err := ctx.Err(); err != nil {
				return err
			}
			rotation, _ := drawRotation(spec, RotationOptions{Space: space, Seed: seed + uint64(i), KeepOnes: t.keepOnes}) // a space of the stream's
			if err := rotation.apply(rotated, model, rotatableSpaces(spec)); err != nil {
				return err
			}
			turned, err := finiteLogits(runner, ids)
			if err != nil {
				return err
			}
			deviation := relativeDeviation(turned, logits)
			row.Worst, row.Mean = max(row.Worst, deviation), row.Mean+deviation/float64(r.Seeds)
		}
		r.Rows = append(r.Rows, row)
	}
	return nil
}

// finiteLogits runs a model and refuses logits that are not numbers.
func finiteLogits(r *cache.Runner, ids []int32) ([]float64, error) {
	run, err := r.Run(ids)
	if err != nil {
		return nil, err
	}
	return run.Logits, checkFinite("logits", run.Logits)
}

// checkFinite refuses NaN and infinities.
func checkFinite(what string, x []float64) error {
	if i := slices.IndexFunc(x, numerics.NotFinite); i >= 0 {
		return check.Value(what, "finite numbers", fmt.Sprintf("%g: has the model diverged?", x[i]))
	}
	return nil
}

// relativeDeviation returns max |got - want| / max |want|, or the difference itself if want is all
// zeros.
func relativeDeviation(got, want []float64) float64 {
	difference, size := 0.0, 0.0
	for i := range got {
		difference, size = max(difference, math.Abs(got[i]-want[i])), max(size, math.Abs(want[i]))
	}
	return difference / cmp.Or(size, 1)
}

// Table lists the rows.
func (r *RotationReport) Table() figure.Table {
	t := figure.NewTable(r.title(), "llllrr", "space", "breaker", "norm", "rotations", "worst", "mean")
	t.Note = "space: the axis that is rotated. breaker: what is left in the model that may tell one axis from another:\n" +
		"gains of norms, rotary positions, or all of it, as trained. worst, mean: the largest difference of a logit\n" +
		"over the largest logit."
	for _, row := range r.Rows {
		rotations := "any"
		if row.KeepOnes {
			rotations = "keep ones"
		}
		t.Row(row.Space, row.Breaker, row.Norm, rotations, fmt.Sprintf("%.2g", row.Worst), fmt.Sprintf("%.2g", row.Mean))
	}
	return t
}

func (r *RotationReport) title() string {
	return fmt.Sprintf("Relative deviation of the logits under rotation of the %s stream (%s, %d rotations each)", r.Stream, r.DType, r.Seeds)
}

// Figures are bars of the digits to which the logits agree, -log10 of the worst deviation.
func (r *RotationReport) Figures() []figure.Figure {
	bars := figure.NewBars(fmt.Sprintf("What breaks the rotation of the %s stream", r.Stream), "digits to which the logits agree")
	least := 1e-16
	if r.DType == tensor.Float32.Name() {
		least = 1e-7
	}
	for _, row := range r.Rows {
		label := row.Space + ": " + row.Breaker
		if row.KeepOnes {
			label += ", ones kept"
		}
		bars.Add(label, max(0, -math.Log10(max(least, row.Worst))))
	}
	return []figure.Figure{bars}
}
