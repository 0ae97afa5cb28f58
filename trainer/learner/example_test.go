package learner_test

import (
	"context"
	"fmt"
	"log"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/optim"
	"github.com/residua-go/residua/stream"
	"github.com/residua-go/residua/trainer/learner"
)

// A Residual Matrix Transformer of two blocks learns to count, on 16 token ids in rows of 8.
func Example() {
	spec, err := models.Config{
		Stream: stream.MatrixConfig{Dk: 8, Dv: 8, Rank: 4}, FeedForward: layers.GELUConfig{Hidden: 32},
		Layers: 2, Vocab: 16, Seq: 8, Init: models.InitLeCun,
	}.Resolve()
	if err != nil {
		log.Fatal(err)
	}
	counting := learner.Fixed([]int32{0, 1, 2, 3, 4, 5, 6, 7}, []int32{1, 2, 3, 4, 5, 6, 7, 8})
	l, err := learner.New(spec, counting, learner.Options{Optimizer: []optim.Part{optim.Clip(1), optim.Rate(3e-3, optim.Constant{})}})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	err = l.Train(context.Background(), 20, func(s learner.Step) error {
		if s.N == 1 || s.N == 20 {
			fmt.Printf("step %d: loss %.1f\n", s.N, s.Loss)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(l.Program().Store().Size(), "parameters trained")
	// Output:
	// step 1: loss 2.8
	// step 20: loss 1.0
	// 6176 parameters trained
}
