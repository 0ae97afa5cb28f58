package config

import (
	"github.com/residua-go/residua/optim"
)

// Schedule is the key train.schedule: how the rate changes over a run. A struct whose tagged fields are its keys; those of
// other modules are in models.Zoo.WithKinds. A kind without keys is written by its name alone.
type Schedule interface {
	Name() string // the kind
	// With is the schedule of a run with these numbers, which train has: total, warmup, decay and min_lr.
	With(o optim.ScheduleOptions) (optim.Schedule, error)
}

// Schedule returns the learning-rate schedule, as factors of train.lr. The first step's
// factor is 1/warmup, not 0: a step at rate 0 learns nothing.
func (r *Run) Schedule() (optim.Schedule, error) {
	t, total := r.Train, r.TotalSteps()
	return t.Schedule.With(optim.ScheduleOptions{Warmup: stepsOf(t.Warmup, total), Total: total, Decay: stepsOf(t.Decay, total), Min: t.MinLR / t.LR, WarmupFromOne: true})
}
