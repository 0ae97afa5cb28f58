package graph_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/optest"
)

// TestStockReadersLeaveOutputsAlone checks that an output whose last reader is a stock op is intact
// after the run, and that a hooked value is, too.
func TestStockReadersLeaveOutputsAlone(t *testing.T) {
	for _, separate := range []bool{false, true} {
		var y *gorgonia.Node
		p, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Threads: 1, Hooks: graph.Hooks{"h": nil}}, Gradients: true, Separate: separate},
			func(b *graph.Builder) (graph.Roots, error) {
				var s optest.StockGraph
				x := b.Param(graph.ParamSpec{Name: "x", Shape: []int{3, 5}, Init: graph.Normal(1)})
				w := b.Input("w", tensor.Float32, 3, 5)
				y = elementwise.Scale(b, x, 2)
				h := b.Hook("h", elementwise.Scale(b, x, 3))
				stock := s.Node(gorgonia.HadamardProd(s.Node(gorgonia.Add(y, w)), s.Node(gorgonia.Add(h, w))))
				return graph.Roots{Loss: s.Node(gorgonia.Sum(stock)), Outputs: gorgonia.Nodes{y}}, s.Err
			})
		require.NoError(t, err)
		defer p.Close()
		optest.Fill(p.Input("w").Float32s(), func() float64 { return 0.25 })
		require.NoError(t, p.Run(graph.RunOptions{}))
		x := graph.Float64s(p.Store().Param("x").Value)
		require.InDeltaSlice(t, optest.WantScale(x, 2), optest.ValuesOf(t, y.Value()), 1e-6)
		hooked, err := p.Hooked("h")
		require.NoError(t, err)
		require.InDeltaSlice(t, optest.WantScale(x, 3), graph.Float64s(hooked), 1e-6)
	}
}

// TestReshapeBeforeAdd checks that our outputs avoid a trap of stock Gorgonia: a Reshape shares its
// input's memory, and an Add after it writes there.
func TestReshapeBeforeAdd(t *testing.T) {
	b := graph.On(gorgonia.NewGraph(), graph.Options{Threads: 1})
	var s optest.StockGraph
	x := b.Param(graph.ParamSpec{Name: "x", Shape: []int{3, 5}, Init: graph.Normal(1)})
	w := b.Input("w", tensor.Float32, 15)
	y := elementwise.Scale(b, x, 2)
	s.Node(gorgonia.Add(s.Node(gorgonia.Reshape(y, tensor.Shape{15})), w))
	late := elementwise.Scale(b, y, 1)
	require.NoError(t, s.Err)
	optest.Fill(optest.LetInputs(t, b)["w"].Float32s(), func() float64 { return 0.25 })
	vm := gorgonia.NewTapeMachine(b.Graph())
	defer func() { require.NoError(t, vm.Close()) }()
	require.NoError(t, vm.RunAll())
	require.InDeltaSlice(t, optest.WantScale(graph.Float64s(b.Store().Param("x").Value), 2), optest.ValuesOf(t, late.Value()), 1e-6)
}

// TestViewsAsInputs feeds the results of stock Transpose and Slice to our ops.
func TestViewsAsInputs(t *testing.T) {
	b := graph.On(gorgonia.NewGraph(), graph.Options{Threads: 1, DType: tensor.Float64})
	var s optest.StockGraph
	x := b.Param(graph.ParamSpec{Name: "x", Shape: []int{3, 5}, Init: graph.Normal(1)})
	y := elementwise.Scale(b, s.Node(gorgonia.Transpose(elementwise.Scale(b, x, 1))), 2)                    // [5, 3]
	z := elementwise.Scale(b, s.Node(gorgonia.Slice(elementwise.Scale(b, x, 1), nil, gorgonia.S(1, 3))), 2) // [3, 2]
	require.NoError(t, s.Err)
	vm := gorgonia.NewTapeMachine(b.Graph())
	defer func() { require.NoError(t, vm.Close()) }()
	require.NoError(t, vm.RunAll())
	values := graph.Float64s(b.Store().Param("x").Value)
	for i := range 3 {
		for j := range 5 {
			require.Equal(t, 2*values[i*5+j], optest.ValuesOf(t, y.Value())[j*3+i])
		}
		require.Equal(t, []float64{2 * values[i*5+1], 2 * values[i*5+2]}, optest.ValuesOf(t, z.Value())[2*i:2*i+2])
	}
}

// TestColumnMajorInput checks that a tensor in column-major order is refused, not misread.
func TestColumnMajorInput(t *testing.T) {
	b := graph.On(gorgonia.NewGraph(), graph.Options{Threads: 1, DType: tensor.Float64})
	x := b.Input("x", tensor.Float64, 2, 3)
	elementwise.Scale(b, x, 2)
	require.NoError(t, gorgonia.Let(x, tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(2, 3), tensor.AsFortran(nil))))
	vm := gorgonia.NewTapeMachine(b.Graph())
	defer func() { require.NoError(t, vm.Close()) }()
	require.ErrorContains(t, vm.RunAll(), "row-major")
}

// TestStockGradientsShareNothing checks gradients where a stock Add passes one gradient to a stock
// Reshape, which would share its memory, and to a stock op that would write into it before the
// Reshape's result is read.
func TestStockGradientsShareNothing(t *testing.T) {
	var loss *gorgonia.Node
	p, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Threads: 1, DType: tensor.Float64}, Gradients: true}, func(b *graph.Builder) (graph.Roots, error) {
		var s optest.StockGraph
		x := b.Param(graph.ParamSpec{Name: "x", Shape: []int{3, 5}, Init: graph.Normal(1)})
		h := elementwise.Scale(b, x, 2) // [3, 5]
		y := b.Param(graph.ParamSpec{Name: "y", Shape: []int{15}, Init: graph.Normal(1)})
		m := s.Node(gorgonia.Abs(elementwise.Scale(b, y, 1))) // [15]
		flat := s.Node(gorgonia.Reshape(h, tensor.Shape{15}))
		sum := s.Node(gorgonia.Add(flat, m))
		loss = s.Node(gorgonia.Sum(s.Node(gorgonia.HadamardProd(sum, b.Input("weights", tensor.Float64, 15)))))
		return graph.Roots{Loss: loss}, s.Err
	})
	require.NoError(t, err)
	defer p.Close()
	optest.DrawInto(p.Input("weights"), rand.New(rand.NewPCG(1, 1)))
	m := &optest.Machine{Run: func() error { return p.Run(graph.RunOptions{}) }, Loss: func() float64 { return optest.ScalarOf(t, loss) }}
	require.NoError(t, m.Run())
	x := p.Store().Param("x")
	got := graph.Float64s(x.Grad)
	for i := range got {
		require.InDelta(t, optest.Quotient(t, m, x.Value.Float64s(), i), got[i], 1e-7, "entry %d", i)
	}
}
