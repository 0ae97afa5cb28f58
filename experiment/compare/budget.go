package compare

import (
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/config"
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
	if wrong != nil || err != nil || !(value >= 1) || value > 1e30 {
		return Budget{}, errors.Errorf("want tokens=N or flops=N, as in tokens=1000000 or flops=1e14, got %q", text)
	}
	return Budget{unit, value}, nil
}

// tokens is the budget in a run's tokens, at least one.
func (b Budget) tokens(run *config.Run) int64 {
	if b.Unit == FLOPs {
		return max(1, int64(b.Amount/float64(run.Spec().Cost().TrainFLOPs())))
	}
	return int64(b.Amount)
}
