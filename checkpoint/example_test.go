package checkpoint_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/residua-go/residua/checkpoint"
)

// A safetensors file holds named tensors, and texts about them. It is written whole or not at all.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "weights.safetensors")
	weights := []checkpoint.Tensor{{Name: "norm.gain", Shape: []int{2}, Data: []float32{1, 0.5}}}
	if err := checkpoint.WriteTensors(path, weights, map[string]string{"note": "two numbers"}); err != nil {
		log.Fatal(err)
	}

	file, err := checkpoint.ReadTensors(path)
	if err != nil {
		log.Fatal(err)
	}
	gain, err := file.Tensor("norm.gain")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(gain.Name, gain.Shape, gain.Data, file.Metadata["note"])
	// Output: norm.gain [2] [1 0.5] two numbers
}
