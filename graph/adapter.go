package graph

import (
	"fmt"
	"math"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph/kernel"
)

// AdapterA and AdapterB are the suffixes of the names of an Adapter's two parameters.
const (
	AdapterA = ".lora_A"
	AdapterB = ".lora_B"
)

// Adapter changes some columns of a weight W [in, out] by a product of low rank (LoRA, Hu et al.
// 2021, arXiv 2106.09685), in a Store with Adapt:
//
//	W'[:, From:From+Width] = W[:, From:From+Width] + Scale A B
//
// A [in, Rank] starts uniform in ±1/sqrt(in), as peft starts it, and B [Rank, Width] at 0, so that
// a model with new adapters is the model without them.
type Adapter struct {
	Name        string  // its parameters are Name.lora_A and Name.lora_B
	Of          string  // the weight
	From, Width int     // the columns
	Rank        int     // r
	Scale       float64 // alpha / r
}

// parameters returns A and B for a weight. An optimizer treats each as a matrix of its own, and
// decays it as it would decay the weight.
func (a Adapter) parameters(of *Param) []ParamSpec {
	in := of.Shape[0]
	first := ParamSpec{Name: a.Name + AdapterA, Shape: []int{in, a.Rank}, Init: Initializer{Uniform: 1 / math.Sqrt(float64(in))}, Decay: of.Decay,
		Role: of.Role, adapter: true}
	second := first
	second.Name, second.Shape, second.Init = a.Name+AdapterB, []int{a.Rank, a.Width}, Zeros()
	return []ParamSpec{first, second}
}

// Adapt adds adapters to a Store that has no parameters yet: graphs over the Store then read each
// adapted weight as W'. Only the adapters' parameters are trained; all other parameters are Frozen.
func (s *Store) Adapt(adapters []Adapter) error {
	if len(s.params) > 0 {
		return errors.Errorf("graph: Adapt: want a store without parameters, got one with %d", len(s.params))
	}
	s.adapters = map[string][]Adapter{}
	for _, a := range adapters {
		s.adapters[a.Of] = append(s.adapters[a.Of], a)
	}
	return nil
}

// Trained returns the parameters that are not Frozen, in the order in which they were made.
func (s *Store) Trained() []*Param { return s.some(false) }

// Frozen returns the parameters that are Frozen, in the order in which they were made.
func (s *Store) Frozen() []*Param { return s.some(true) }

func (s *Store) some(frozen bool) (some []*Param) {
	for _, p := range s.params {
		if p.Frozen == frozen {
			some = append(some, p)
		}
	}
	return some
}

// Merged returns a Store (see Serve) in which W' replaces each adapted weight, with the same bits
// that graphs over s read. For a Store without adapters it returns s.Serve().
func (s *Store) Merged() (*Store, error) {
	if s.adapters == nil {
		return s.Serve(), nil
	}
	if err := s.ToHost(); err != nil {
		return nil, err
	}
	merged := NewPlan(s.dtype)
	for _, p := range s.Frozen() {
		m, err := merged.ensure(p.ParamSpec)
		if err == nil {
			m.Value, err = s.changed(p)
		}
		if err != nil {
			return nil, errors.Wrapf(err, "graph: parameter %q", p.Name)
		}
	}
	return merged.Serve(), nil
}

// changed returns the values of W' for an adapted weight, and the values of any other parameter as
// they are.
func (s *Store) changed(p *Param) (*tensor.Dense, error) {
	if s.adapters[p.Name] == nil {
		return p.Value, nil
	}
	host := &Store{sharedParameters: &sharedParameters{dtype: s.dtype, params: s.params, byName: s.byName, adapters: s.adapters}, mode: serves}
	program, err := Compile(ProgramOptions{Options: Options{Store: host, DType: s.dtype}}, func(b *Builder) (Roots, error) {
		return Roots{Outputs: gorgonia.Nodes{b.Param(p.ParamSpec)}}, b.err
	})
	if err != nil {
		return nil, err
	}
	defer program.Close()
	if err := program.Run(RunOptions{}); err != nil {
		return nil, err
	}
	value, err := Value(program.Roots().Outputs[0])
	if err != nil {
		return nil, err
	}
	return value.Clone().(*tensor.Dense), nil
}

// adapted returns the node of W', given the node w of a parameter: w itself if the Store has no
// adapters for that parameter.
func (b *Builder) adapted(p *Param, w *gorgonia.Node) *gorgonia.Node {
	adapters := b.options.Store.adapters[p.Name]
	if len(adapters) == 0 {
		return w
	}
	if len(p.Shape) != 2 {
		b.fail(errors.Errorf("graph: adapter %q: want a weight [in, out], got %q of shape %v", adapters[0].Name, p.Name, tensor.Shape(p.Shape)))
		return nil
	}
	share := b.share
	b.share = nil // the weight has its final name already
	nodes := gorgonia.Nodes{w}
	for _, a := range adapters {
		for _, spec := range a.parameters(p) {
			nodes = append(nodes, b.Param(spec))
		}
	}
	b.share = share
	return b.Apply(adapt{adapters}, nodes...)
}

// adapt computes W' for all adapters of a weight. Inputs: W, then A and B of each.
type adapt struct{ adapters []Adapter }

func (k adapt) String() string { return fmt.Sprintf("Adapt(%v)", k.adapters) }

// KeepsFloat32 returns true, as W' is read like a parameter.
func (adapt) KeepsFloat32() bool { return true }

// FLOPs counts 2 for each multiply-add.
func (k adapt) FLOPs(c Cost) (flops int) {
	for _, a := range k.adapters {
		flops += 2 * c.Signature(0).Leading() * a.Rank * a.Width
	}
	return flops
}

func (k adapt) Infer(in []Signature) (Signature, error) {
	for _, a := range k.adapters {
		if out := in[0].Width(); a.From < 0 || a.Width < 1 || a.From+a.Width > out {
			return Signature{}, errors.Errorf("adapter %q: want columns of a weight with %d, got %d from %d on", a.Name, out, a.Width, a.From)
		}
	}
	return in[0], nil
}

func (k adapt) VJP(d *Derivative) {
	if d.Wants(0) {
		d.Set(0, d.Gradient())
	}
	for i, a := range k.adapters {
		first, second := 1+2*i, 2+2*i
		if d.Wants(first) {
			d.Make(first, adaptGradA{of: a}, d.Gradient(), d.Input(second))
		}
		if d.Wants(second) {
			d.Make(second, adaptGradB{of: a}, d.Gradient(), d.Input(first))
		}
	}
}

func (k adapt) Run(c *Call) { Dispatch(c, k, runAdapt, runAdapt) }

func runAdapt[T kernel.Float](k adapt, c CallOf[T]) {
	g, in, out := State[kernel.Gemm[T]](c), c.Signature(0).Leading(), c.Signature(0).Width()
	c.CopyOut(0)
	for i, a := range k.adapters {
		g.Run(c.Pool(), false, false, in, a.Width, a.Rank, T(a.Scale), c.In(1+2*i), a.Rank, c.In(2+2*i), a.Width, 1, c.Out()[a.From:], out)
	}
}

// adaptGradA computes dA = Scale dW' B^T over the adapter's columns. Inputs: dW', B.
type adaptGradA struct {
	NoGradient
	of Adapter
}

func (k adaptGradA) String() string { return fmt.Sprintf("GradA of Adapt(%v)", k.of) }

func (k adaptGradA) FLOPs(c Cost) int { return adapt{[]Adapter{k.of}}.FLOPs(c) }

func (adaptGradA) Accumulates() bool { return true }

func (k adaptGradA) Run(c *Call) { Dispatch(c, k, runAdaptGradA, runAdaptGradA) }

func runAdaptGradA[T kernel.Float](k adaptGradA, c CallOf[T]) {
	a, in, out := k.of, c.Signature(0).Leading(), c.Signature(0).Width()
	State[kernel.Gemm[T]](c).Run(c.Pool(), false, true, in, a.Rank, a.Width, T(a.Scale), c.In(0)[a.From:], out, c.In(1), a.Width, kept[T](c.Accumulate()),
		c.Out(), a.Rank)
}

// adaptGradB computes dB = Scale A^T dW' over the adapter's columns. Inputs: dW', A.
type adaptGradB struct {
	NoGradient
	of Adapter
}

func (k adaptGradB) String() string { return fmt.Sprintf("GradB of Adapt(%v)", k.of) }

func (k adaptGradB) FLOPs(c Cost) int { return adapt{[]Adapter{k.of}}.FLOPs(c) }

func (adaptGradB) Accumulates() bool { return true }

func (k adaptGradB) Run(c *Call) { Dispatch(c, k, runAdaptGradB, runAdaptGradB) }

func runAdaptGradB[T kernel.Float](k adaptGradB, c CallOf[T]) {
	a, in, out := k.of, c.Signature(0).Leading(), c.Signature(0).Width()
	State[kernel.Gemm[T]](c).Run(c.Pool(), true, false, a.Rank, a.Width, in, T(a.Scale), c.In(1), a.Rank, c.In(0)[a.From:], out, kept[T](c.Accumulate()),
		c.Out(), a.Width)
}

// kept returns 1 for a product that is added to its output's old content, and 0 for one that
// replaces it.
func kept[T kernel.Float](accumulate bool) T {
	if accumulate {
		return 1
	}
	return 0
}
