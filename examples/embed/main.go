// Command embed is another Gorgonia program that uses one block of a Residual Matrix Transformer
// between stock Gorgonia layers and trains it with stock gorgonia.Grad, a stock tape machine and a
// stock solver. It learns to tell at each position of a row whether an earlier entry was larger: a
// task for attention.
//
//	go run ./examples/embed
package main

import (
	"fmt"
	"log"
	"math/rand/v2"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/readwrite"
	"github.com/residua-go/residua/layers"
)

// Sizes of the task and of the block.
const (
	rows, seq    = 16, 8
	tokens       = rows * seq
	dk, dv, rank = 6, 8, 3
	inputs       = 2 // a number and the constant 1
	steps        = 1000
)

func main() {
	loss, err := train(steps)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("mean squared error: %.3f at first, %.3f after %d steps (a constant guess: 0.225)\n", loss[0], mean(loss[steps-50:]), steps)
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// network is the graph with the nodes that are fed and read.
type network struct {
	g                 *gorgonia.ExprGraph
	x, y, loss        *gorgonia.Node
	lossValue         gorgonia.Value
	learnables        gorgonia.Nodes
	stockIn, stockOut *gorgonia.Node
}

// build puts one RMT attention block between two stock linear layers.
func build() (*network, error) {
	g := gorgonia.NewGraph()
	n := &network{g: g}
	n.x = gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithShape(tokens, inputs), gorgonia.WithName("x"))
	n.y = gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithShape(tokens, 1), gorgonia.WithName("y"))
	n.stockIn = gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithShape(inputs, rank*dv), gorgonia.WithName("stock_in"), gorgonia.WithInit(normal(1, 1)))
	n.stockOut = gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithShape(rank*dv, 1), gorgonia.WithName("stock_out"), gorgonia.WithInit(normal(2, 0.2)))

	hidden := gorgonia.Must(gorgonia.Tanh(gorgonia.Must(gorgonia.Mul(n.x, n.stockIn)))) // stock: [tokens, rank*dv]
	features, learnables, err := block(g, hidden)
	if err != nil {
		return nil, err
	}
	flat := gorgonia.Must(gorgonia.Reshape(features, tensor.Shape{tokens, rank * dv}))
	guess := gorgonia.Must(gorgonia.Mul(flat, n.stockOut)) // stock: [tokens, 1]
	n.loss = gorgonia.Must(gorgonia.Mean(gorgonia.Must(gorgonia.Square(gorgonia.Must(gorgonia.Sub(guess, n.y))))))
	n.learnables = append(learnables, n.stockIn, n.stockOut)
	gorgonia.Read(n.loss, &n.lossValue)
	_, err = gorgonia.Grad(n.loss, n.learnables...)
	return n, err
}

// block stores stock features into a matrix stream, attends once, and reads them back.
func block(g *gorgonia.ExprGraph, hidden *gorgonia.Node) (*gorgonia.Node, gorgonia.Nodes, error) {
	b := graph.On(g, graph.Options{Seed: 3})
	init := layers.Init{Std: 1, Layers: 1}
	store := b.Param(init.Hidden("store", rank, 1, rank, dk))
	read := b.Param(init.Hidden("read_qkv", dk, 1, 3, rank, dk))
	write := b.Param(init.Output("write", rank, 1, rank, dk))
	readOut := b.Param(init.Hidden("read_out", dk, 1, rank, dk))
	norm := layers.NewNorm(b, "norm", layers.NormConfig{Eps: 1e-6}, dk, dv)
	attention := layers.NewAttention(b, "attention", layers.AttentionConfig{Heads: rank, Scale: 0.35})

	x := readwrite.Write(b, nil, store, hidden)                   // [tokens, dk, dv]
	o := attention.Forward(norm.Read(x, read), seq, nil)          // [tokens, rank, dv]
	x = readwrite.Write(b, x, write, o)                           // [tokens, dk, dv]
	return readwrite.Read(b, x, readOut), b.Learnables(), b.Err() // [tokens, rank, dv]
}

// train trains with stock Gorgonia: its tape machine and its Adam.
func train(steps int) ([]float64, error) {
	n, err := build()
	if err != nil {
		return nil, err
	}
	vm := gorgonia.NewTapeMachine(n.g)
	defer func() { _ = vm.Close() }()
	solver := gorgonia.NewAdamSolver(gorgonia.WithLearnRate(0.01))
	draw := rand.New(rand.NewPCG(4, 4))
	var losses []float64
	for range steps {
		x, y := task(draw)
		if err := gorgonia.Let(n.x, x); err != nil {
			return nil, err
		}
		if err := gorgonia.Let(n.y, y); err != nil {
			return nil, err
		}
		if err := vm.RunAll(); err != nil {
			return nil, err
		}
		losses = append(losses, float64(n.lossValue.Data().(float32)))
		if err := solver.Step(gorgonia.NodesToValueGrads(n.learnables)); err != nil {
			return nil, err
		}
		vm.Reset()
	}
	return losses, nil
}

// task draws rows of numbers; the answer is 1 where an earlier one of the row was larger.
func task(draw *rand.Rand) (x, y *tensor.Dense) {
	numbers, answers := make([]float32, inputs*tokens), make([]float32, tokens)
	for i := range answers {
		numbers[inputs*i], numbers[inputs*i+1] = float32(draw.NormFloat64()), 1
		for j := i - i%seq; j < i; j++ {
			if numbers[inputs*j] > numbers[inputs*i] {
				answers[i] = 1
			}
		}
	}
	return tensor.New(tensor.WithShape(tokens, inputs), tensor.WithBacking(numbers)), tensor.New(tensor.WithShape(tokens, 1), tensor.WithBacking(answers))
}

// normal is an initialiser with a seed; Gorgonia's own are seeded by the clock.
func normal(seed uint64, std float64) gorgonia.InitWFn {
	return func(_ tensor.Dtype, shape ...int) any {
		draw := rand.New(rand.NewPCG(seed, 0))
		values := make([]float32, tensor.Shape(shape).TotalSize())
		for i := range values {
			values[i] = float32(std * draw.NormFloat64())
		}
		return values
	}
}
