package compare

import (
	"math"
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/experiment"
)

// Unit is what a budget and the horizontal axis of a chart count.
type Unit string

// The units.
const (
	Tokens Unit = "tokens"
	FLOPs  Unit = "flops" // of the model's own training
)

// ParseUnit reads tokens or flops.
func ParseUnit(text string) (Unit, error) {
	if u := Unit(text); u == Tokens || u == FLOPs {
		return u, nil
	}
	return "", errors.Errorf("want %s or %s, got %q", Tokens, FLOPs, text)
}

// Budget is what each model may train on. A run is rounded up to whole steps.
type Budget struct {
	Unit   Unit
	Amount float64
}

// ParseBudget reads tokens=N or flops=N.
func ParseBudget(text string) (Budget, error) {
	name, amount, _ := strings.Cut(text, "=")
	unit, wrong := ParseUnit(name)
	value, err := strconv.ParseFloat(amount, 64)
	if wrong != nil || err != nil || !(value >= 1) {
		return Budget{}, errors.Errorf("want tokens=N or flops=N, as in tokens=1000000 or flops=1e14, got %q", text)
	}
	return Budget{unit, value}, nil
}

// mostSteps is the greatest number of steps that a run config takes.
const mostSteps = 1e9

// steps is the budget in a run's steps, rounded up, at least one.
func (b Budget) steps(run *config.Run) (int, error) {
	tokens := b.Amount
	if b.Unit == FLOPs {
		tokens = math.Floor(tokens / float64(run.Spec().Cost().TrainFLOPs()))
	}
	steps := max(1, math.Ceil(tokens/float64(run.StepTokens())))
	if !(steps <= mostSteps) {
		return 0, experiment.Setupf("budget: want at most %.0e steps of a run, got %s=%g, which are %.3g of %s with %d tokens each: take a smaller budget", mostSteps, b.Unit, b.Amount, steps, run.Name, run.StepTokens())
	}
	return int(steps), nil
}
