package cache

import (
	"github.com/pkg/errors"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models/check"
)

// Intervention replaces chosen entries of an activation while the model runs: what comes
// after it in the graph sees the new values. Ablate, Scale, Patch, Set, Steer and Change make one.
type Intervention struct {
	Name string // of the activation
	At   At     // the entries; nil: all
	// change returns the new values of the chosen entries, given the old ones.
	change func(old []float64) ([]float64, error)
}

// Ablate sets entries to 0.
func Ablate(name string, at At) Intervention {
	return Intervention{name, at, func(old []float64) ([]float64, error) { return make([]float64, len(old)), nil }}
}

// Scale multiplies entries by a factor: 0 switches them off, 1 leaves them as they are, bit for
// bit.
func Scale(name string, at At, factor float64) Intervention {
	return Intervention{name, at, func(old []float64) ([]float64, error) {
		for i := range old {
			old[i] *= factor
		}
		return old, nil
	}}
}

// Patch sets entries to the values that they had in another run, which must have the same number of
// tokens unless at names the token (Vig et al. 2020, causal mediation analysis; "activation
// patching"). That run must have kept the activation.
func Patch(name string, at At, from *Cache) Intervention {
	return Intervention{name, at, func([]float64) ([]float64, error) {
		if from == nil {
			return nil, check.Value("patch", "a run to patch from", "none")
		}
		a, err := from.Get(name)
		if err != nil {
			return nil, err
		}
		return a.Select(at)
	}}
}

// Set sets entries to given values, one for each chosen entry, in order.
func Set(name string, at At, values []float64) Intervention {
	return Intervention{name, at, func([]float64) ([]float64, error) { return values, nil }}
}

// Steer adds scale times a direction to the chosen entries. Their number must be a multiple of the
// direction's length, and each stretch of that length gets the direction. So if at names no token,
// every token gets it.
func Steer(name string, at At, direction []float64, scale float64) Intervention {
	return Intervention{name, at, func(old []float64) ([]float64, error) {
		if len(direction) == 0 || len(old)%len(direction) != 0 {
			return nil, check.Valuef("direction", len(direction), "a length that divides the %d chosen entries", len(old))
		}
		for i := range old {
			old[i] += scale * direction[i%len(direction)]
		}
		return old, nil
	}}
}

// Change sets entries to what f returns for the values that they would have had.
func Change(name string, at At, f func(old []float64) ([]float64, error)) Intervention {
	return Intervention{name, at, f}
}

// Apply changes the chosen entries of an activation in place, for callers that run a model
// without a Runner. It returns an error if the activation has no such entries.
func (v Intervention) Apply(a Activation) error {
	old, err := a.Select(v.At)
	if err != nil {
		return err
	}
	count := len(old)
	values, err := v.change(old)
	if err != nil {
		return errors.Wrap(err, v.Name)
	}
	if len(values) != count {
		return check.Valuef(v.Name, len(values), "%d values for the chosen entries %v", count, v.At)
	}
	next := 0
	a.each(v.At, func(i int) {
		a.Values[i] = values[next]
		next++
	})
	return nil
}

// ApplyAll applies changes, in order, to the activation name [axes] that a hook receives as x.
// It skips changes of other activations.
func ApplyAll(name string, axes []string, x *tensor.Dense, changes ...Intervention) error {
	a := Activation{Name: name, Axes: axes, Shape: x.Shape(), Values: graph.Float64s(x)}
	if err := apply(changes, a); err != nil {
		return err
	}
	return graph.SetFloat64s(x, a.Values)
}
