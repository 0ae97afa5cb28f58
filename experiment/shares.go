package experiment

import (
	"sync"

	"github.com/residua-go/residua/trainer"
)

// shares adds up how much of an experiment's work is done.
type shares struct {
	mu    sync.Mutex
	total float64            // FLOPs of all runs
	flops map[string]float64 // of each run, by name
	done  map[string]float64 // the share of each run, from 0 to 1
}

// begin counts the work of the runs that are left.
func (s *shares) begin(todo []*Planned) {
	s.flops, s.done = map[string]float64{}, map[string]float64{}
	for _, r := range todo {
		s.flops[r.Name] = r.flops()
		s.total += s.flops[r.Name]
	}
}

// set records the share of a run that is done, and reports the share of all.
func (s *shares) set(run *Planned, share float64, report func(share float64)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done[run.Name] = share
	sum := 0.0
	for name, share := range s.done {
		sum += share * s.flops[name]
	}
	if s.total > 0 {
		report(min(1, sum/s.total))
	}
}

// steps is a Reporter that says how much of a run is done.
type steps struct {
	trainer.Silent
	total int
	done  func(share float64)
}

// Start begins with the steps that were made before.
func (s *steps) Start(done, total int) {
	s.total = max(1, total)
	s.done(float64(done) / float64(s.total))
}

// Step counts a step.
func (s *steps) Step(m trainer.Metrics) { s.done(float64(m.Step) / float64(s.total)) }
