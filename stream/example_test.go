package stream_test

import (
	"fmt"
	"log"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// damped is the settings of a stream of our own, h <- h + a F(h) with a number a: those of all
// streams of vectors, and one more.
type damped struct {
	stream.Vectors
	Factor float64 `yaml:"factor" default:"0.5" help:"a, which multiplies what is added"`
}

func (damped) Name() string { return "damped" }

func (damped) Card() layers.Card { return layers.Card{Title: "Damped", Equation: "h <- h + a F(h)"} }

func (c damped) Defaults() stream.Design {
	if c.Factor == 0 {
		c.Factor = 0.5
	}
	return c
}

func (c damped) New(b *graph.Builder) stream.Stream {
	s := dampedStream{stream.NewVector(b, stream.VectorConfig{Vectors: c.Vectors}), b, c.Factor}
	s.Use(s)
	return s
}

// dampedStream is a vector stream that writes otherwise. (Another module's examples/newstream also
// says to package analysis how what is written reaches the end, and has an op of its own.)
type dampedStream struct {
	*stream.Vector
	b      *graph.Builder
	factor float64
}

func (s dampedStream) Write(h stream.State, at stream.Site, _ stream.Reading, y *gorgonia.Node) stream.State {
	return s.Add(h, at, elementwise.Scale(s.b, y, s.factor))
}

// A new stream is a Design: settings from which a Stream is made. A zoo with it makes configs,
// checkpoints and package command know its kind.
func Example() {
	zoo := models.Standard().With(damped{})
	design, err := zoo.Stream("damped")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("without settings:", layers.WithDefaults(design).(damped).Factor)

	spec, err := models.Config{
		Stream: damped{Vectors: stream.Vectors{D: 8}, Factor: 0.25}, FeedForward: layers.GELUConfig{Hidden: 32},
		Attention: models.Attention{Heads: 2}, Layers: 2, Vocab: 16, Seq: 8,
	}.Resolve()
	if err != nil {
		log.Fatal(err)
	}
	m, err := models.New(gorgonia.NewGraph(), spec, graph.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("parameters:", m.Store().Size(), "as counted:", spec.Cost().Parameters)
	fmt.Println(spec.Stream.Name(), models.Sizes(spec.Stream))
	// Output:
	// without settings: 0.5
	// parameters: 1896 as counted: 1896
	// damped [d_model=8]
}
