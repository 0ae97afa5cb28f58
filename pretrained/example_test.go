package pretrained_test

import (
	"context"
	"fmt"
	"log"

	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/pretrained"
)

// A small GPT-2 saved by Hugging Face's transformers. No tokenizer has its 113 ids, so it continues
// ids.
func ExampleOpen() {
	m, err := pretrained.Open("../testdata/reference/gpt2-hf")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s stream, %d layers, %d parameters\n", m.Spec.Stream.Name(), m.Spec.Layers, m.Spec.Cost().Parameters)
	g, err := m.Generator(generate.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	result, err := g.Generate(context.Background(), generate.Request{IDs: []int32{5, 6, 7}, Tokens: 4}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(result.IDs), "more")
	// Output:
	// vector stream, 2 layers, 18744 parameters
	// 4 more
}
