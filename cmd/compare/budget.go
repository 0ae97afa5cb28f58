package main

import (
	"strconv"
	"strings"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/internal/cli"
)

// The axes that a loss is drawn against, and the units of a budget.
const (
	axisTokens = "tokens"
	axisFLOPs  = "flops"
)

// budget is what each model may train on: tokens, or FLOPs of the model's own.
type budget struct {
	unit   string
	amount float64
}

// parseBudget reads tokens=N or flops=N.
func parseBudget(text string) (budget, error) {
	unit, amount, _ := strings.Cut(text, "=")
	value, err := strconv.ParseFloat(amount, 64)
	if (unit != axisTokens && unit != axisFLOPs) || err != nil || !(value >= 1) || value > 1e30 {
		return budget{}, cli.Usagef("-budget: want tokens=N or flops=N, as in tokens=1000000 or flops=1e14, got %q", text)
	}
	return budget{unit, value}, nil
}

// tokens is the budget in a run's tokens, at least one; the run rounds up to whole steps.
func (b budget) tokens(run *config.Run) int64 {
	if b.unit == axisFLOPs {
		return max(1, int64(b.amount/float64(run.Spec().Cost().TrainFLOPs())))
	}
	return int64(b.amount)
}
