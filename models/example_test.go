package models_test

import (
	"fmt"
	"log"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// small returns a Residual Matrix Transformer of two blocks, with 16 token ids and rows of 8
// tokens.
func small() models.Config {
	return models.Config{
		Stream: stream.MatrixConfig{Dk: 8, Dv: 8, Rank: 4}, FeedForward: layers.GELUConfig{Hidden: 32},
		Layers: 2, Vocab: 16, Seq: 8, Init: models.InitLeCun,
	}
}

// A model is compiled into a program, which computes its loss and the gradients. Package learner
// trains it.
func ExampleCompile() {
	spec, err := small().Resolve()
	if err != nil {
		log.Fatal(err)
	}
	m, err := models.Compile(spec, 1, 8, models.Outputs{Loss: true}, graph.ProgramOptions{Gradients: true})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	copy(m.Tokens, []int32{0, 1, 2, 3, 4, 5, 6, 7})
	copy(m.Targets, []int32{1, 2, 3, 4, 5, 6, 7, 8})
	if err := m.Run(graph.RunOptions{}); err != nil {
		log.Fatal(err)
	}
	loss, err := graph.Scalar(m.Roots().Loss)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("loss %.1f\n", loss)
	// Output: loss 2.8
}

// A model can be part of any Gorgonia graph: gorgonia.Grad finds its gradients, the stock tape
// machine runs it, and a stock solver trains it.
func ExampleNew() {
	spec, err := small().Resolve()
	if err != nil {
		log.Fatal(err)
	}
	g := gorgonia.NewGraph()
	m, err := models.New(g, spec, graph.Options{Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	tokens := gorgonia.NewMatrix(g, tensor.Int32, gorgonia.WithShape(1, 4), gorgonia.WithName("tokens"))
	targets := gorgonia.NewMatrix(g, tensor.Int32, gorgonia.WithShape(1, 4), gorgonia.WithName("targets"))
	loss := m.Loss(m.Forward(tokens), targets, models.Auxiliary{})
	if err := m.Err(); err != nil {
		log.Fatal(err)
	}
	if _, err := gorgonia.Grad(loss, m.Learnables()...); err != nil {
		log.Fatal(err)
	}
	vm := gorgonia.NewTapeMachine(g, gorgonia.BindDualValues(m.Learnables()...))
	defer vm.Close()
	solver := gorgonia.NewAdamSolver(gorgonia.WithLearnRate(3e-3))
	row := func(ids ...int32) gorgonia.Value { return tensor.New(tensor.WithShape(1, 4), tensor.WithBacking(ids)) }
	for step := range 20 {
		gorgonia.Let(tokens, row(0, 1, 2, 3))
		gorgonia.Let(targets, row(1, 2, 3, 4))
		if err := vm.RunAll(); err != nil {
			log.Fatal(err)
		}
		if step == 0 || step == 19 {
			fmt.Printf("step %d: loss %.1f\n", step+1, loss.Value().Data())
		}
		if err := solver.Step(gorgonia.NodesToValueGrads(m.Learnables())); err != nil {
			log.Fatal(err)
		}
		vm.Reset()
	}
	// Output:
	// step 1: loss 2.8
	// step 20: loss 0.8
}

// A preset is a model of the zoo. Its size and cost are known without building it.
func ExampleZoo() {
	preset, err := models.Standard().Preset("rmt-46m")
	if err != nil {
		log.Fatal(err)
	}
	spec, err := preset.Config.Resolve()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(spec.Stream.Name(), models.Sizes(spec.Stream))
	fmt.Println(spec.Cost().Parameters, "parameters")
	// Output:
	// matrix [dk=32 dv=32 rank=12]
	// 45900160 parameters
}
