package graph

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TestStockNodes runs every op between stock Add, Reshape, HadamardProd and Sum nodes: a
// Program with shared buffers, one with separate ones and a stock tape machine under
// gorgonia.Grad give the same bits, run after run with new inputs. (Stock binary ops write
// their results into our buffers.)
func TestStockNodes(t *testing.T) {
	for _, c := range opCases() {
		for _, dt := range stockTypes() {
			c.addFirst = dt == tensor.Float32
			t.Run(fmt.Sprintf("%s/%v", c.name, dt), func(t *testing.T) {
				newOne := []func() *machine{
					func() *machine { return newProgram(t, c, NewStore(dt, 3), ProgramOptions{}) },
					func() *machine { return newProgram(t, c, NewStore(dt, 3), ProgramOptions{Separate: true}) },
					func() *machine { return newStock(t, c, NewStore(dt, 3)) },
				}
				var want []float64
				for i, make := range newOne {
					m := make()
					got := m.results(t, c)
					if i == 0 {
						want = got
					}
					require.Equal(t, want, got, m.name)
				}
			})
		}
	}
}

// stockTypes are the element types that every case runs in: with -short that of training.
func stockTypes() []tensor.Dtype {
	if testing.Short() {
		return []tensor.Dtype{tensor.Float32}
	}
	return []tensor.Dtype{tensor.Float32, tensor.Float64}
}

// results runs a machine a few times and returns everything that comes out of it.
func (m *machine) results(t *testing.T, c opCase) []float64 {
	var all []float64
	for run := range 3 {
		m.feed(c, run)
		require.NoError(t, m.run())
		all = append(all, m.output()...)
		if c.noGradient {
			continue
		}
		all = append(all, m.loss())
		for i := range c.floats {
			all = append(all, m.grad(i)...)
		}
	}
	return all
}

// TestStockReadersLeaveOutputsAlone checks that an output which a stock op reads last is
// still there after the run, and so is a hooked value.
func TestStockReadersLeaveOutputsAlone(t *testing.T) {
	for _, separate := range []bool{false, true} {
		var y *gorgonia.Node
		p, err := Compile(ProgramOptions{Options: Options{Threads: 1, Hooks: Hooks{"h": nil}}, Gradients: true, Separate: separate},
			func(b *Builder) (Roots, error) {
				var s stockGraph
				x := b.Param(ParamSpec{Name: "x", Shape: []int{3, 5}, Init: Normal(1)})
				w := b.Input("w", tensor.Float32, 3, 5)
				y = b.Scale(x, 2)
				h := b.Hook("h", b.Scale(x, 3))
				stock := s.node(gorgonia.HadamardProd(s.node(gorgonia.Add(y, w)), s.node(gorgonia.Add(h, w))))
				return Roots{Loss: s.node(gorgonia.Sum(stock)), Outputs: gorgonia.Nodes{y}}, s.err
			})
		require.NoError(t, err)
		defer p.Close()
		fill(p.Input("w").Float32s(), func() float64 { return 0.25 })
		require.NoError(t, p.Run(RunOptions{}))
		x := Float64s(p.Store().Param("x").Value)
		require.InDeltaSlice(t, wantScale(x, 2), valuesOf(t, y.Value()), 1e-6)
		hooked, err := p.Hooked("h")
		require.NoError(t, err)
		require.InDeltaSlice(t, wantScale(x, 3), Float64s(hooked), 1e-6)
	}
}

// TestReshapeBeforeAdd checks a trap of stock Gorgonia that our outputs avoid: a Reshape
// shares its input's memory, and an Add behind it writes there.
func TestReshapeBeforeAdd(t *testing.T) {
	b := On(gorgonia.NewGraph(), Options{Threads: 1})
	var s stockGraph
	x := b.Param(ParamSpec{Name: "x", Shape: []int{3, 5}, Init: Normal(1)})
	w := b.Input("w", tensor.Float32, 15)
	y := b.Scale(x, 2)
	s.node(gorgonia.Add(s.node(gorgonia.Reshape(y, tensor.Shape{15})), w))
	late := b.Scale(y, 1)
	require.NoError(t, s.err)
	fill(letInputs(t, b)["w"].Float32s(), func() float64 { return 0.25 })
	vm := gorgonia.NewTapeMachine(b.Graph())
	defer func() { require.NoError(t, vm.Close()) }()
	require.NoError(t, vm.RunAll())
	require.InDeltaSlice(t, wantScale(Float64s(b.Store().Param("x").Value), 2), valuesOf(t, late.Value()), 1e-6)
}

// TestViewsAsInputs feeds our ops what stock Transpose and Slice leave behind.
func TestViewsAsInputs(t *testing.T) {
	b := On(gorgonia.NewGraph(), Options{Threads: 1, DType: tensor.Float64})
	var s stockGraph
	x := b.Param(ParamSpec{Name: "x", Shape: []int{3, 5}, Init: Normal(1)})
	y := b.Scale(s.node(gorgonia.Transpose(b.Scale(x, 1))), 2)                    // [5, 3]
	z := b.Scale(s.node(gorgonia.Slice(b.Scale(x, 1), nil, gorgonia.S(1, 3))), 2) // [3, 2]
	require.NoError(t, s.err)
	vm := gorgonia.NewTapeMachine(b.Graph())
	defer func() { require.NoError(t, vm.Close()) }()
	require.NoError(t, vm.RunAll())
	values := Float64s(b.Store().Param("x").Value)
	for i := range 3 {
		for j := range 5 {
			require.Equal(t, 2*values[i*5+j], valuesOf(t, y.Value())[j*3+i])
		}
		require.Equal(t, []float64{2 * values[i*5+1], 2 * values[i*5+2]}, valuesOf(t, z.Value())[2*i:2*i+2])
	}
}

// TestColumnMajorInput checks that a tensor whose elements lie in another order is
// refused, not misread.
func TestColumnMajorInput(t *testing.T) {
	b := On(gorgonia.NewGraph(), Options{Threads: 1, DType: tensor.Float64})
	x := b.Input("x", tensor.Float64, 2, 3)
	b.Scale(x, 2)
	require.NoError(t, gorgonia.Let(x, tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(2, 3), tensor.AsFortran(nil))))
	vm := gorgonia.NewTapeMachine(b.Graph())
	defer func() { require.NoError(t, vm.Close()) }()
	require.ErrorContains(t, vm.RunAll(), "row-major")
}

// TestStockGradientsShareNothing checks gradients where a stock Add passes one gradient
// on to a stock Reshape, which would share its memory, and to a stock op that would write
// into it before the Reshape's result is read.
func TestStockGradientsShareNothing(t *testing.T) {
	var loss *gorgonia.Node
	p, err := Compile(ProgramOptions{Options: Options{Threads: 1, DType: tensor.Float64}, Gradients: true}, func(b *Builder) (Roots, error) {
		var s stockGraph
		x := b.Param(ParamSpec{Name: "x", Shape: []int{3, 5}, Init: Normal(1)})
		h := b.Scale(x, 2) // [3, 5]
		y := b.Param(ParamSpec{Name: "y", Shape: []int{15}, Init: Normal(1)})
		m := s.node(gorgonia.Abs(b.Scale(y, 1))) // [15]
		flat := s.node(gorgonia.Reshape(h, tensor.Shape{15}))
		sum := s.node(gorgonia.Add(flat, m))
		loss = s.node(gorgonia.Sum(s.node(gorgonia.HadamardProd(sum, b.Input("weights", tensor.Float64, 15)))))
		return Roots{Loss: loss}, s.err
	})
	require.NoError(t, err)
	defer p.Close()
	drawInto(p.Input("weights"), rand.New(rand.NewPCG(1, 1)))
	m := &machine{run: func() error { return p.Run(RunOptions{}) }, loss: func() float64 { return scalarOf(t, loss) }}
	require.NoError(t, m.run())
	x := p.Store().Param("x")
	got := Float64s(x.Grad)
	for i := range got {
		require.InDelta(t, quotient(t, m, x.Value.Float64s(), i), got[i], 1e-7, "entry %d", i)
	}
}
