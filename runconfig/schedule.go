package runconfig

import (
	"github.com/residua-go/residua/optim"
)

// Schedule is the key train.schedule: how the rate changes over a run. It is a struct whose tagged
// fields are its keys; models.Zoo.WithKinds adds schedules of other modules. A kind without keys is
// written as its name alone.
type Schedule interface {
	Name() string // the kind
	// With returns the schedule for a run, given its numbers of steps (total, warmup and
	// decay) and min_lr as a factor of the peak rate.
	With(o optim.ScheduleOptions) (optim.Schedule, error)
}

// Schedule returns the learning-rate schedule as factors of train.lr. The factor of the first step
// is 1/warmup and not 0, because a step at rate 0 would learn nothing.
func (r *Run) Schedule() (optim.Schedule, error) {
	t, total := r.Train, r.TotalSteps()
	return t.Schedule.With(optim.ScheduleOptions{Warmup: stepsOf(t.Warmup, total), Total: total, Decay: stepsOf(t.Decay, total), Min: t.MinLR / t.LR,
		WarmupFromOne: true})
}
