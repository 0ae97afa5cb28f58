package models

import (
	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph"
)

// ErrNoParameters is in the chain of a model's error if its Store has no parameters.
var ErrNoParameters = errors.New("want a store with a model's parameters, got an empty one: read a model with pretrained.Open")

// ErrDiverged is in the chain of a model's error if its loss or logits are not finite.
var ErrDiverged = errors.New("the model's weights have diverged or were damaged; take an earlier checkpoint")

// CheckStore returns ErrNoParameters for a nil Store and for one without parameters.
func CheckStore(store *graph.Store) error {
	if store == nil || len(store.Params()) == 0 {
		return ErrNoParameters
	}
	return nil
}
