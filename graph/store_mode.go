package graph

import (
	"github.com/pkg/errors"
	"gorgonia.org/tensor"
)

// mode says what a Store does when a parameter is missing.
type mode int

const (
	initialises mode = iota // makes it with its initial values
	plans                   // notes its name and shape without allocating anything
	serves                  // refuses it by name
)

// NewPlan returns an empty Store that only plans: its parameters get names and shapes but no values
// (Param.Value is nil), so that a model of any size can be compared with a file, or with the
// machine's memory, before anything is allocated. A graph over it cannot run. After setting every
// Param.Value, the Store can be used by Serve.
func NewPlan(dt tensor.Dtype) *Store {
	s := NewStore(dt, 0)
	s.mode = plans
	return s
}

// Serve returns a Store with the same parameters, on the same device, to which no graph can add: a
// missing parameter is an error that names it. Use it for trained models, where a silently
// initialised parameter would be noise.
func (s *Store) Serve() *Store {
	return &Store{sharedParameters: s.sharedParameters, mode: serves, weights: map[*Param]*convertedWeight{}}
}

// Initialises tells whether the Store makes missing parameters.
func (s *Store) Initialises() bool { return s.mode == initialises }

// checkNew returns an error if the mode does not allow a new parameter.
func (m mode) checkNew(name string) error {
	if m == serves {
		return errors.Errorf("parameter %q: the store does not have it: want the config of the model that the store holds", name)
	}
	return nil
}

// checkExisting returns an error if the mode does not allow p to be used as it is.
func (m mode) checkExisting(p *Param) error {
	if m != plans && p.Value == nil {
		return errors.Errorf("parameter %q: want its values, got a plan's shape %v alone: set Param.Value first", p.Name, p.Shape)
	}
	return nil
}
