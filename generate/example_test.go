package generate_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/optim"
	"github.com/residua-go/residua/pretrained"
	"github.com/residua-go/residua/stream"
	"github.com/residua-go/residua/trainer/learner"
)

const sentence = "the quick brown fox jumps over the lazy dog"

// learn trains a model on one sentence and returns its parameters.
func learn(spec models.Spec, tokenizer data.Tokenizer, steps int) (*graph.Store, error) {
	ids := tokenizer.Encode([]int32{tokenizer.BOS()}, sentence)
	last := len(ids) - 1
	l, err := learner.New(spec, learner.Fixed(ids[:last], ids[1:]), learner.Options{
		Seq: last, Compute: graph.Options{Seed: 1}, Optimizer: []optim.Part{optim.Rate(1e-2, optim.Constant{}), optim.Clip(1)},
	})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	return l.Program().Store(), l.Train(context.Background(), steps, nil)
}

// A small Residual Matrix Transformer learns a sentence by heart, is saved to one file,
// opened from it, and asked to continue the sentence's beginning.
func Example() {
	spec, err := models.Config{
		Stream: stream.MatrixConfig{Dk: 8, Dv: 8, Rank: 4}, FeedForward: layers.GELUConfig{Hidden: 32},
		Attention: models.Attention{Positions: models.PositionsALiBi, InverseLayerScaling: true},
		Layers:    1, Vocab: 257, BOS: 256, Seq: 64,
	}.Resolve()
	if err != nil {
		log.Fatal(err)
	}
	description := pretrained.Description{Spec: spec}
	description.Data.Tokenizer = "bytes"
	tokenizer, err := description.Tokenizer()
	if err != nil {
		log.Fatal(err)
	}
	store, err := learn(spec, tokenizer, 150)
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "fox.safetensors")
	if err := pretrained.Save(path, store, description); err != nil {
		log.Fatal(err)
	}

	p, err := pretrained.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	g, err := p.Generator(generate.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	request := generate.Request{Prompt: "the quick", Echo: true, Tokens: len(" brown fox jumps over the lazy dog")}
	_, err = g.Generate(context.Background(), request, func(p generate.Piece) error {
		fmt.Print(p.Text)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: the quick brown fox jumps over the lazy dog
}
