package analysis_test

import (
	"fmt"
	"log"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// A logit is the sum of what all that wrote to the residual stream wrote for it: embedding,
// positions, heads, neurons. Here of a model that is not trained; pretrained.Open gives the Store
// and the Spec of one that is.
func Example() {
	spec, err := models.Config{
		Stream: stream.MatrixConfig{Dk: 4, Dv: 4, Rank: 2}, FeedForward: layers.GELUConfig{Hidden: 8},
		Layers: 2, Vocab: 16, Seq: 8, TieEmbeddings: true,
	}.Resolve()
	if err != nil {
		log.Fatal(err)
	}
	store := graph.NewStore(tensor.Float64, 1)
	if _, err := models.New(gorgonia.NewGraph(), spec, graph.Options{Store: store, DType: tensor.Float64}); err != nil {
		log.Fatal(err)
	}

	run, err := analysis.Run(store, spec, []int32{3, 1, 4})
	if err != nil {
		log.Fatal(err)
	}
	d, err := analysis.Decompose(run)
	if err != nil {
		log.Fatal(err)
	}
	a, err := d.Attribute(2, 5, -1) // the logit of id 5 after token 2
	if err != nil {
		log.Fatal(err)
	}
	sum := 0.0
	for _, c := range a.Contributions {
		sum += c.Value
	}
	fmt.Println(len(a.Contributions), "terms, such as", a.Contributions[2].Name())
	fmt.Println("they add up to the logit:", math.Abs(sum-a.Logit) < 1e-12)
	// Output:
	// 22 terms, such as blocks.0.attention.0
	// they add up to the logit: true
}
