package optim_test

import (
	"fmt"
	"log"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/optim"
)

// A graph of your own, with our ops and stock ones, is compiled by graph.Compile, which makes the
// gradients, and trained by an Optimizer over its Store. Here a small network learns x1 x2.
func Example() {
	store := graph.NewStore(tensor.Float32, 1) // seed 1
	const tokens, hidden = 64, 16
	options := graph.ProgramOptions{Options: graph.Options{Store: store}, Gradients: true}
	program, err := graph.Compile(options, func(b *graph.Builder) (graph.Roots, error) {
		x, want := b.Input("x", tensor.Float32, tokens, 2), b.Input("want", tensor.Float32, tokens, 1)
		in := b.Param(graph.ParamSpec{Name: "in", Shape: []int{2, hidden}, Init: graph.Normal(1)})
		out := b.Param(graph.ParamSpec{Name: "out", Shape: []int{hidden, 1}, Init: graph.Normal(0.2)})
		y := linear.Map(b, elementwise.Gelu(b, linear.Map(b, x, in, linear.Options{}), false), out, linear.Options{}) // [tokens, 1]
		if err := b.Err(); err != nil {
			return graph.Roots{}, err
		}
		loss := gorgonia.Must(gorgonia.Mean(gorgonia.Must(gorgonia.Square(gorgonia.Must(gorgonia.Sub(y, want))))))
		return graph.Roots{Loss: loss}, nil
	})
	if err != nil {
		log.Fatal(err)
	}
	defer program.Close()
	for i := range tokens {
		a, b := float32(i%8)/4-1, float32(i/8)/4-1
		copy(program.Input("x").Float32s()[2*i:], []float32{a, b})
		program.Input("want").Float32s()[i] = a * b
	}
	optimizer, err := optim.New(store, 1, optim.Clip(1), optim.Rate(0.02, optim.Constant{}))
	if err != nil {
		log.Fatal(err)
	}
	defer optimizer.Close()
	for step := range 301 {
		if err := program.Run(graph.RunOptions{}); err != nil { // sets the parameters' gradients
			log.Fatal(err)
		}
		if loss, err := graph.Scalar(program.Roots().Loss); err == nil && step%150 == 0 {
			fmt.Printf("step %d: loss %.2f\n", step, loss)
		}
		if _, err := optimizer.Step(1); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// step 0: loss 0.35
	// step 150: loss 0.00
	// step 300: loss 0.00
}
