package sourcecheck

import (
	"context"
	"fmt"
	"log"

	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/pretrained"
)

// The README's Go.
func Example() {
	if err := chdir(); err != nil {
		log.Fatal(err)
	}
	m, err := pretrained.Open("examples/embedded/model.safetensors") // or zoo:quickstart, runs/quickstart, or a folder of Hugging Face's
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	text, err := m.Generate(context.Background(), "package main\n\nif err != ", generate.Request{Stop: []string{"\n"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(text) // nil {
	// Output: nil {
}
