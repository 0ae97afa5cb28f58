package config

import (
	"reflect"
	"strconv"
)

// maxStepTokens is the greatest number of tokens of a step, and maxSteps that of steps: far
// beyond any run, and small enough for their product to be counted.
const (
	maxStepTokens = 1 << 32
	maxSteps      = 1_000_000_000
)

// checkBounds returns the first value, in the order of declaration, that lies outside the
// bounds that its tags name.
func checkBounds(of reflect.Value, where *Positions) error {
	s, err := schemaFor(of)
	if err != nil {
		return err
	}
	s.walk(of, func(key string, f field, v reflect.Value) {
		value, isNumber := numberOf(v)
		if err != nil || !isNumber {
			return
		}
		least, most := f.tag.Get("min"), f.tag.Get("max")
		switch {
		case least != "" && value < boundOf(least):
			err = where.Errorf(key, "want >= %s, got %s", least, valueText(v))
		case most != "" && value > boundOf(most):
			err = where.Errorf(key, "want <= %s, got %s", most, valueText(v))
		}
	})
	return err
}

// numberOf is a value as a number, if it is one.
func numberOf(v reflect.Value) (value float64, isNumber bool) {
	switch k := v.Kind(); {
	case isInt(k):
		return float64(v.Int()), true
	case isUint(k):
		return float64(v.Uint()), true
	case k == reflect.Float32 || k == reflect.Float64:
		return v.Float(), true
	}
	return 0, false
}

// boundOf reads the bound of a tag; a test reads all of them.
func boundOf(text string) float64 {
	bound, _ := strconv.ParseFloat(text, 64)
	return bound
}

// checkProducts wants steps whose tokens can be counted.
func (r *Run) checkProducts(where *Positions) error {
	t := r.Train
	if n := r.StepTokens(); n > maxStepTokens {
		return where.Errorf("train.accumulate", "want at most %d tokens a step, got %d: batch %d x accumulate %d x seq %d", int64(maxStepTokens), n, t.Batch, t.Accumulate, r.Model.Seq)
	}
	if n := r.TotalSteps(); n > maxSteps {
		return where.Errorf("train.tokens", "want at most %d steps, got %d: %d tokens at %d a step", maxSteps, n, t.Tokens, r.StepTokens())
	}
	return nil
}
