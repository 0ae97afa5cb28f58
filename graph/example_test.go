package graph_test

import (
	"fmt"
	"log"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/norm"
)

// cube is an example of an op from outside: y = x^3 for each entry.
type cube struct{}

func (cube) String() string { return "Cube" }

func (cube) Infer(in []graph.Signature) (graph.Signature, error) { return in[0], nil }

func (k cube) Run(c *graph.Call) {
	graph.Dispatch(c, k, runCube, runCube)
}

func runCube[T float32 | float64](_ cube, c graph.CallOf[T]) {
	y := c.Out()
	for i, x := range c.In(0) {
		y[i] = x * x * x
	}
}

// VJP makes dx = 3 x^2 ⊙ dy by another op.
func (cube) VJP(d *graph.Derivative) { d.Make(0, cubeGradient{}, d.Input(0), d.Gradient()) }

// cubeGradient computes dx = 3 x^2 ⊙ dy. Inputs: x, dy.
type cubeGradient struct{ graph.NoGradient }

func (cubeGradient) String() string { return "Gradient of Cube" }

func (k cubeGradient) Run(c *graph.Call) {
	graph.Dispatch(c, k, runCubeGradient, runCubeGradient)
}

func runCubeGradient[T float32 | float64](_ cubeGradient, c graph.CallOf[T]) {
	dy, dx := c.In(1), c.Out()
	for i, x := range c.In(0) {
		dx[i] = 3 * x * x * dy[i]
	}
}

// An op is a Primitive: its name, the type and shape of its output, how it runs, and its gradient.
// It can stand between stock nodes of Gorgonia, as our ops can.
func ExamplePrimitive() {
	g := gorgonia.NewGraph()
	x := gorgonia.NewVector(g, tensor.Float64, gorgonia.WithName("x"), gorgonia.WithShape(3),
		gorgonia.WithValue(tensor.New(tensor.WithBacking([]float64{1, 2, 3}))))
	b := graph.On(g, graph.Options{DType: tensor.Float64})
	y := b.Apply(cube{}, x)
	if err := b.Err(); err != nil {
		log.Fatal(err)
	}
	sum := gorgonia.Must(gorgonia.Sum(y)) // a stock node
	gradients, err := gorgonia.Grad(sum, x)
	if err != nil {
		log.Fatal(err)
	}
	vm := gorgonia.NewTapeMachine(g)
	defer vm.Close()
	if err := vm.RunAll(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("sum of x^3:", sum.Value())
	fmt.Println("gradient:", gradients[0].Value().Data())
	// Output:
	// sum of x^3: 36
	// gradient: [3 12 27]
}

// Ops between stock layers of a Gorgonia program: an RMSNorm.
func Example() {
	g := gorgonia.NewGraph()
	x := gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithName("x"), gorgonia.WithShape(2, 2),
		gorgonia.WithValue(tensor.New(tensor.WithShape(2, 2), tensor.WithBacking([]float32{3, 4, 0, 5}))))
	b := graph.On(g, graph.Options{})
	gain := b.Param(graph.ParamSpec{Name: "gain", Shape: []int{2}, Init: graph.Ones()})
	y := norm.Apply(b, x, gain, norm.Options{RMS: true, Eps: 1e-6}) // x / sqrt(mean of x^2)
	if err := b.Err(); err != nil {
		log.Fatal(err)
	}
	largest := gorgonia.Must(gorgonia.Max(y)) // a stock node
	vm := gorgonia.NewTapeMachine(g)
	defer vm.Close()
	if err := vm.RunAll(); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.3f\n", y.Value().Data())
	fmt.Printf("%.3f\n", largest.Value().Data())
	// Output:
	// [0.849 1.131 0.000 1.414]
	// 1.414
}
