package pretrained_test

import (
	"context"
	"fmt"
	"log"

	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/pretrained"
)

// A model of 2 MB that has read Go code completes a line.
func ExampleModel_Generate() {
	m, err := pretrained.Open("../examples/embedded/model.safetensors")
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	text, err := m.Generate(context.Background(), "package main\n\nif err != ", generate.Request{Stop: []string{"\n"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(text)
	// Output: nil {
}
