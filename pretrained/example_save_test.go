package pretrained_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
	"github.com/residua-go/residua/stream"
	"github.com/residua-go/residua/trainer/learner"
)

// A model trained in memory is saved as one file, which Open and the commands can read.
func ExampleSave() {
	spec, err := models.Config{
		Stream: stream.MatrixConfig{Dk: 8, Dv: 8, Rank: 4}, FeedForward: layers.GELUConfig{Hidden: 32},
		Layers: 2, Vocab: 16, Seq: 8, Init: models.InitLeCun,
	}.Resolve()
	if err != nil {
		log.Fatal(err)
	}
	l, err := learner.New(spec, learner.Fixed([]int32{0, 1, 2, 3, 4, 5, 6, 7}, []int32{1, 2, 3, 4, 5, 6, 7, 8}), learner.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	if err := l.Train(context.Background(), 20, nil); err != nil {
		log.Fatal(err)
	}
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)

	file := filepath.Join(folder, "model.safetensors")
	if err := pretrained.Save(file, l.Program().Store(), pretrained.Description{Spec: spec}); err != nil {
		log.Fatal(err)
	}
	m, err := pretrained.Open(file)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	fmt.Println(m.Spec.Stream.Name(), m.Spec.Cost().Parameters, "parameters")
	// Output: matrix 6176 parameters
}
