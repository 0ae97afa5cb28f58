package graph

import (
	"github.com/pkg/errors"
	"gorgonia.org/tensor"
)

// mode is what a Store does about a parameter that it does not have.
type mode int

const (
	initialises mode = iota // makes it, with its initial values
	plans                   // notes its name and shape: nothing is allocated
	serves                  // refuses it by name
)

// NewPlan returns an empty Store that only plans: its parameters get names and shapes and no
// values (Param.Value is nil), so that a model of any size can be compared with a file, or
// with the machine's memory, before anything is allocated. A graph over it does not run.
// Whoever then sets every Param.Value has a Store to Serve.
func NewPlan(dt tensor.Dtype) *Store {
	s := NewStore(dt, 0)
	s.mode = plans
	return s
}

// Serve returns the Store with the same parameters, on the same device, to which no graph
// adds any: a parameter that it does not have is an error that names it. This is how a trained
// model is used, where one that is silently initialised would be noise.
func (s *Store) Serve() *Store {
	return &Store{sharedParameters: s.sharedParameters, mode: serves, weights: map[*Param]*convertedWeight{}}
}

// Initialises tells whether the Store makes parameters that it does not have.
func (s *Store) Initialises() bool { return s.mode == initialises }

// checkNew tells whether a parameter may be added.
func (m mode) checkNew(name string) error {
	if m == serves {
		return errors.Errorf("parameter %q: the store does not have it: want the config of the model that the store holds", name)
	}
	return nil
}

// checkExisting tells whether a parameter may be used as it stands.
func (m mode) checkExisting(p *Param) error {
	if m != plans && p.Value == nil {
		return errors.Errorf("parameter %q: want its values, got a plan's shape %v alone: set Param.Value first", p.Name, p.Shape)
	}
	return nil
}
