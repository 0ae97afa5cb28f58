package runconfig

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/settings"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/optim"
)

// validate returns an error for the first value that is invalid.
func (r *Run) validate(where *settings.Positions) error {
	if err := settings.CheckBounds(r, where); err != nil {
		return err
	}
	if err := r.resolveModel(where); err != nil {
		return err
	}
	for _, check := range []func(*settings.Positions) error{r.checkData, r.checkLength, r.checkProducts, r.checkTrainNumbers, r.checkOptim, r.checkLora,
		r.checkSchedule, r.Train.Stop.check, r.Device.check, r.checkRanks} {
		if err := check(where); err != nil {
			return err
		}
	}
	return nil
}

// completeModel fills in the model's defaults. It returns an error if a default would replace
// a value that was given, because a zero stands for the default.
func (r *Run) completeModel(where *settings.Positions) error {
	given := valuesOf(r)
	r.Model = r.Model.WithDefaults()
	filled := valuesOf(r)
	for _, key := range slices.Sorted(maps.Keys(filled)) {
		if where.Of(key) == "" || reflect.DeepEqual(given[key], filled[key]) {
			continue
		}
		text, byDefault := settings.Text(given[key]), settings.Text(filled[key])
		return where.Errorf(key, "want another value than %s, with which no model works: leave the key out for the default, %s", text, byDefault)
	}
	return nil
}

// resolveModel checks the model.
func (r *Run) resolveModel(where *settings.Positions) error {
	spec, err := r.Model.Resolve()
	var field *models.FieldError
	if errors.As(err, &field) {
		key := modelPrefix + field.Field
		if field.Field == "mask_documents" { // it is given in another section
			key = "data.mask_documents"
		}
		kind := key[:strings.LastIndex(key, ".")+1] + settings.KindKey
		if where.Of(key) != "" || key == kind || where.Of(kind) == "" {
			return where.Errorf(key, "%s", field.Problem)
		}
		missing := &settings.Error{Position: where.Of(kind), Key: key, Problem: field.Problem}
		if where.Of(modelPrefix+"preset") != "" {
			missing.Problem += " (with another kind, nothing of the preset's section is kept)"
		}
		return missing
	}
	r.spec = spec
	return err
}

// oneOf checks a named choice.
func oneOf(where *settings.Positions, key, value string, known ...string) error {
	if slices.Contains(known, value) {
		return nil
	}
	return where.Errorf(key, "want one of %s, got %q", strings.Join(known, ", "), value)
}

// refused returns the error of a kind, at the key that the error names or else at the section.
func refused(where *settings.Positions, key string, err error) error {
	if err == nil {
		return nil
	}
	problem := err.Error()
	var bad *layers.SettingError
	if errors.As(err, &bad) {
		key, problem = bad.Key, bad.Problem
	}
	return where.Errorf(key, "%s", problem)
}

func (r *Run) checkData(where *settings.Positions) error {
	tokenizer, err := data.TokenizerOf(r.Data.Source, r.Data.Tokenizer)
	if err == nil {
		_, err = r.Data.Source.Open(r.Data.options(), tokenizer)
	}
	return refused(where, "data.source", err)
}

func (r *Run) checkLength(where *settings.Positions) error {
	t := r.Train
	switch {
	case t.EvalTokens > 0 && t.EvalTokens < r.Model.Seq:
		return where.Errorf("train.eval_tokens", "want 0 (all) or at least one window of model.seq, %d tokens, got %d", r.Model.Seq, t.EvalTokens)
	case t.Steps == 0 && t.Tokens == 0:
		return where.Errorf("train.steps", "want >= 1 (or train.tokens instead), got 0")
	case t.Steps != 0 && t.Tokens != 0:
		return where.Errorf("train.tokens", "want steps or tokens, got both (steps %d, tokens %d): remove one, or set it to 0", t.Steps, t.Tokens)
	}
	return nil
}

func (r *Run) checkTrainNumbers(where *settings.Positions) error {
	t := r.Train
	for _, n := range []struct {
		key   string
		ok    bool
		want  string
		value float64
	}{
		{"lr", t.LR > 0, "> 0", t.LR},
		{"min_lr", t.MinLR >= 0 && t.MinLR <= t.LR, "between 0 and train.lr", t.MinLR},
		{"beta1", t.Beta1 >= 0 && t.Beta1 < 1, "in [0, 1)", t.Beta1},
		{"beta2", t.Beta2 >= 0 && t.Beta2 < 1, "in [0, 1)", t.Beta2},
		{"adam_eps", t.AdamEps > 0, "> 0", t.AdamEps},
		{"warmup", validShare(t.Warmup), "a share below 1 or whole steps", t.Warmup},
		{"decay", validShare(t.Decay), "a share below 1 or whole steps", t.Decay},
	} {
		if !n.ok {
			return where.Errorf("train."+n.key, "want %s, got %g", n.want, n.value)
		}
	}
	return nil
}

func validShare(v float64) bool { return v >= 0 && (v < 1 || v == math.Trunc(v)) }

func (r *Run) checkSchedule(where *settings.Positions) error {
	_, err := r.Schedule()
	return refused(where, "train.schedule", err)
}

func (d Device) check(where *settings.Positions) error {
	if d.Place().OnGPU() {
		return oneOf(where, "device.precision", d.Precision, string(graph.FP32), string(graph.TF32), string(graph.BF16))
	}
	if d.Index != 0 {
		return where.Errorf("device.index", "want 0 on the cpu, got %d: set device.kind to cuda", d.Index)
	}
	return oneOf(where, "device.precision", d.Precision, string(graph.FP32), string(graph.BF16))
}

// checkRanks returns an error unless the ranks can share the micro-batches of a step equally.
func (r *Run) checkRanks(where *settings.Positions) error {
	ranks, accumulate := r.Device.Ranks, r.Train.Accumulate
	if accumulate%ranks != 0 {
		return where.Errorf("device.ranks", "want a divisor of train.accumulate, the micro-batches of a step over all ranks, got %d and %d: set "+
			"train.accumulate=%d, with a smaller train.batch if the step is to keep its size",
			ranks, accumulate, (accumulate+ranks-1)/ranks*ranks)
	}
	return nil
}

// Optimizer returns the parts of the run's optimizer: AdamW with the numbers in train and
// muP's rates, followed by the parts of train.optim.
func (r *Run) Optimizer() ([]optim.Part, error) {
	t := r.Train
	schedule, err := r.Schedule()
	parts := []optim.Part{
		optim.Clip(t.Clip), optim.Adam(t.Beta1, t.Beta2, t.AdamEps), optim.Rate(t.LR, schedule),
		optim.MuP(), optim.Decay(t.WeightDecay, optim.DecayMode(t.WeightDecayMode), nil),
	}
	if err != nil {
		return nil, err
	}
	over, err := t.Optim.Parts()
	return append(parts, over...), err
}

// stepsOf converts a share of the steps, or a number of steps, to a number of steps.
func stepsOf(v float64, total int) int {
	if v < 1 {
		return int(math.Round(v * float64(total)))
	}
	return int(v)
}
