package optim

import (
	"github.com/pkg/errors"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// SGD is gradient descent without moments, on the CPU: u = g. It cannot be used with MuP, whose
// rates are meant for Adam.
func SGD() Part {
	return func(c *composer) error {
		return Use(&sgd{})(c)
	}
}

// sgd updates one parameter at a time.
type sgd struct {
	f32 sgdTask[float32]
	f64 sgdTask[float64]
}

func (*sgd) String() string { return "SGD" }

func (*sgd) State() []string { return nil }

func (*sgd) Open([]*Row) error { return nil }

func (*sgd) WidthDivisor(float64) (float64, error) {
	return 0, errors.New("sgd: want no muP with it, whose rates are Adam's: use one of the two")
}

// Unit returns 1 entry, because SGD updates every entry on its own.
func (*sgd) Unit(*graph.Param) (entries int, work float64) { return 1, 1 }

func (s *sgd) Update(rows []*Row, n Now) {
	for _, r := range rows {
		p, rate, decay := r.Param, n.Factor*r.Rate*n.GradScale, n.Factor*r.Decay
		if p.Value.Dtype() == tensor.Float64 {
			s.f64 = sgdTask[float64]{p.Value.Float64s()[r.From:r.To], p.Grad.Float64s()[r.From:r.To], rate, decay}
			n.Pool.Do(r.To-r.From, &s.f64)
		} else {
			s.f32 = sgdTask[float32]{p.Value.Float32s()[r.From:r.To], p.Grad.Float32s()[r.From:r.To], float32(rate), float32(decay)}
			n.Pool.Do(r.To-r.From, &s.f32)
		}
	}
}

type sgdTask[T kernel.Float] struct {
	w, g        []T
	rate, decay T
}

// Part updates the entries lo to hi-1.
func (t *sgdTask[T]) Part(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		t.w[i] -= t.rate*t.g[i] + t.decay*t.w[i]
	}
}
