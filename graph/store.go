package graph

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"unsafe"

	"github.com/pkg/errors"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// ParamSpec describes a parameter: its name, its shape, its initial values and how an optimizer
// treats it.
type ParamSpec struct {
	Name  string
	Shape []int
	Init  Initializer
	// Decay tells whether weight decay applies (not to norms, embeddings, biases).
	Decay bool
	// WidthRatio divides the learning rate (muP, hidden weights); 0 means 1.
	WidthRatio float64
	// Role says what kind of matrix the parameter holds, for optimizers that treat weight matrices
	// differently. Columns are the widths of matrices that lie side by side in the last axis, as
	// queries, keys and values do in one weight; nil: one matrix.
	Role    Role
	Columns []int
	// Unshared makes the parameter keep its own name where Builder.Share would rename it.
	Unshared bool

	adapter bool // it is an Adapter's, which is trained where others are Frozen
}

// Initializer says how a parameter is initialised: every entry is Offset + Std*N(0, 1), or with
// Uniform, Offset + Uniform*U(-1, 1).
type Initializer struct {
	Offset, Std float64
	Uniform     float64
	// Second replaces Std in the second half of the last axis, for two weights packed side by side;
	// 0: Std is used for all entries.
	Second float64
	// Values replaces Offset by one value for each entry, in row-major order; nil: Offset for all.
	Values []float64
}

// Zeros starts every entry at 0.
func Zeros() Initializer { return Initializer{} }

// Ones starts every entry at 1.
func Ones() Initializer { return Initializer{Offset: 1} }

// Normal draws from N(0, std^2).
func Normal(std float64) Initializer { return Initializer{Std: std} }

// Param is a stored parameter with everything that training keeps for it. Grad and the moments are
// nil until a Program or an optimizer asks for them.
type Param struct {
	ParamSpec
	Frozen bool // it is not trained: it has no gradient, and the optimizer leaves it as it is
	Value  *tensor.Dense
	Grad   *tensor.Dense
	// Moment1 and Moment2 are Adam's running means of the gradient and of its square; Muon keeps
	// only the first.
	Moment1, Moment2 *tensor.Dense

	resident   resident // its memory on the Store's device
	transposed bool     // it lies on the device as [columns, rows]
	largePages bool     // large pages have been requested for it
}

// Size returns the number of entries.
func (p *Param) Size() int { return product(p.Shape) }

// Store holds parameters by name, outside any graph: Programs for training, evaluation and
// generation bind the same Store. It is not safe for concurrent use. A Store's mode says what
// happens when a graph requests a parameter that is missing: a Store from NewStore initialises it,
// one from NewPlan notes its shape, one from Serve refuses it.
type Store struct {
	*sharedParameters
	mode    mode
	weights map[*Param]*convertedWeight // of a Store that serves: weights in fewer bits
}

// sharedParameters holds what a Store shares with the Stores that its Serve returns.
type sharedParameters struct {
	dtype    tensor.Dtype
	seed     uint64
	params   []*Param
	byName   map[string]*Param
	adapters map[string][]Adapter // by the weight; nil: all parameters are trained
	device   cuda.Executor        // nil: the parameters live in host memory
	gpu      int                  // index of the device's GPU
}

// NewStore returns an empty Store of float32 or float64 parameters, for training from scratch and
// for tests. Each parameter's initial values depend only on the seed and its name.
func NewStore(dt tensor.Dtype, seed uint64) *Store {
	return &Store{sharedParameters: &sharedParameters{dtype: dt, seed: seed, byName: map[string]*Param{}}}
}

// DType returns the element type.
func (s *Store) DType() tensor.Dtype { return s.dtype }

// Params returns all parameters in the order in which they were made.
func (s *Store) Params() []*Param { return s.params }

// Param returns the parameter of that name; nil if there is none.
func (s *Store) Param(name string) *Param { return s.byName[name] }

// Size returns the total number of entries of all parameters.
func (s *Store) Size() int { return sizesOf(s.params) }

// TrainedSize returns the number of entries of the parameters that are not Frozen.
func (s *Store) TrainedSize() int { return sizesOf(s.Trained()) }

func sizesOf(params []*Param) int {
	n := 0
	for _, p := range params {
		n += p.Size()
	}
	return n
}

// Bytes returns the memory that values, gradients and moments take at present.
func (s *Store) Bytes() int {
	n := 0
	for _, p := range s.params {
		for _, t := range []*tensor.Dense{p.Value, p.Grad, p.Moment1, p.Moment2} {
			if t != nil {
				n += int(t.MemSize())
			}
		}
	}
	return n
}

// ensure returns the parameter that spec describes; if it is missing, the Store's mode decides
// whether to make it.
func (s *Store) ensure(spec ParamSpec) (*Param, error) {
	if err := s.check(spec); err != nil {
		return nil, errors.Wrapf(err, "parameter %q", spec.Name)
	}
	if p := s.byName[spec.Name]; p != nil {
		if !slices.Equal(p.Shape, spec.Shape) {
			return nil, errors.Errorf("parameter %q: the store has shape %v, the graph wants %v", spec.Name, tensor.Shape(p.Shape), spec.Shape)
		}
		if s.weights[p] != nil {
			return p, nil
		}
		return p, s.mode.checkExisting(p)
	}
	if err := s.mode.checkNew(spec.Name); err != nil {
		return nil, err
	}
	p := &Param{ParamSpec: spec, Frozen: s.adapters != nil && !spec.adapter}
	if s.mode == initialises {
		p.Value = s.zeros(spec.Shape)
		s.initialise(p)
	}
	s.params = append(s.params, p)
	s.byName[spec.Name] = p
	return p, nil
}

// check refuses a shape that no parameter can have.
func (s *Store) check(spec ParamSpec) error {
	if err := wantPositive(spec.Shape); err != nil {
		return err
	}
	size, err := sizeOf(spec.Shape)
	if err == nil && spec.Init.Values != nil && len(spec.Init.Values) != size {
		err = errors.Errorf("want %d initial values for shape %v, got %d", size, spec.Shape, len(spec.Init.Values))
	}
	if err == nil {
		err = spec.checkColumns()
	}
	return err
}

func (s *Store) zeros(shape []int) *tensor.Dense {
	return tensor.New(tensor.Of(s.dtype), tensor.WithShape(shape...))
}

// initialise draws p's values from a generator of its own, seeded by (seed, name).
func (s *Store) initialise(p *Param) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(p.Name))
	draw := rand.New(rand.NewPCG(s.seed, h.Sum64()))
	width, entry := p.Shape[len(p.Shape)-1], 0
	next := func() float64 {
		std, offset := p.Init.Std, p.Init.Offset
		if p.Init.Second != 0 && entry%width >= width/2 {
			std = p.Init.Second
		}
		if p.Init.Values != nil {
			offset = p.Init.Values[entry]
		}
		entry++
		if p.Init.Uniform != 0 {
			return offset + p.Init.Uniform*(2*draw.Float64()-1)
		}
		if std == 0 {
			return offset
		}
		return offset + std*draw.NormFloat64()
	}
	if s.dtype == tensor.Float64 {
		fill(elements[float64](p.Value), next)
	} else {
		fill(elements[float32](p.Value), next)
	}
}

func fill[T kernel.Float](data []T, next func() float64) {
	for i := range data {
		data[i] = T(next())
	}
}

// ensureGrad returns p's gradient buffer, which the first call allocates.
func (s *Store) ensureGrad(p *Param) *tensor.Dense {
	if p.Grad == nil {
		p.Grad = s.zeros(p.Shape)
	}
	return p.Grad
}

// EnsureMoments makes the first n of p's two moment buffers, filled with zeros. It fails if a
// device has no room for them.
func (s *Store) EnsureMoments(p *Param, n int) error {
	if s.mode == plans && s.device != nil {
		return s.planMoments(p, n)
	}
	return s.makeMoments(p, n, p.Shape)
}

// EnsureMomentShard makes n moments of shape [entries], for only some of p's entries, so that
// several ranks can share an optimizer's state. If the parameter lies transposed on a device,
// they are in the order of its memory there, also on the host.
func (s *Store) EnsureMomentShard(p *Param, n, entries int) error {
	return s.makeMoments(p, n, []int{entries})
}

func (s *Store) makeMoments(p *Param, n int, shape []int) error {
	for _, m := range []**tensor.Dense{&p.Moment1, &p.Moment2}[:n] {
		if *m == nil {
			*m = s.zeros(shape)
		}
	}
	if s.device == nil {
		return nil
	}
	if err := s.placeOnDevice(p); err != nil {
		return err
	}
	return s.residentMoments(p)
}

// Float64s returns a copy of a float tensor's elements as float64.
func Float64s(t *tensor.Dense) []float64 {
	if t.Dtype() == tensor.Float64 {
		return append([]float64(nil), elements[float64](t)...)
	}
	wide := make([]float64, t.DataSize())
	for i, v := range elements[float32](t) {
		wide[i] = float64(v)
	}
	return wide
}

// SetFloat64s writes values into a float tensor with the same number of elements.
func SetFloat64s(t *tensor.Dense, values []float64) error {
	if n := t.DataSize(); n != len(values) {
		return errors.Errorf("tensor of shape %v: want %d values, got %d", t.Shape(), n, len(values))
	}
	if t.Dtype() == tensor.Float64 {
		copy(elements[float64](t), values)
		return nil
	}
	narrow := elements[float32](t)
	for i, v := range values {
		narrow[i] = float32(v)
	}
	return nil
}

// elements returns a row-major tensor's memory as a slice.
func elements[T kernel.Float | int32 | uint32](t *tensor.Dense) []T {
	return unsafe.Slice((*T)(dataOf(t)), t.DataSize())
}
