package analysis_test

import (
	"math"
	"testing"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/stream"
)

// TestWhoReadsWhichLayerOfMUDD: the weights follow MUDD's equations.
func TestWhoReadsWhichLayerOfMUDD(t *testing.T) {
	readers := []string{"blocks.1.attention.q", "blocks.1.attention.k", "blocks.1.attention.v", "blocks.1.residual", "unembedding"}
	depthRow{stream.MUDDConfig{}, []string{"embedding", "blocks.0", "blocks.1"}, false, readers, map[string]depthWeights{
		"blocks.1.attention.k": func(r depthReader) [][]float64 { return r.connections("blocks.0", 1, 2) },
		"blocks.1.residual":    func(r depthReader) [][]float64 { return r.connections("blocks.0", 3, 2) },
		"unembedding":          func(r depthReader) [][]float64 { return r.connections("blocks.1", 0, 3) },
	}}.check(t)
}

// TestSourcesOfMUDDByHand: a source without a weight is a source left out.
func TestSourcesOfMUDDByHand(t *testing.T) {
	checkMixingSources(t, stream.MUDDConfig{}, func(store *graph.Store, block, source, kept int) {
		prefix := []string{"blocks.0", "blocks.1"}[block]
		w2, bias := store.Param(prefix+".mudd.w2").Value.Float64s(), store.Param(prefix+".mudd.bias").Value.Float64s()
		for j := range bias {
			if j%(block+2) == source && j/(block+2) != kept {
				bias[j] = 0
				for i := j; i < len(w2); i += len(bias) {
					w2[i] = 0
				}
			}
		}
	})
}

// connections are W2 GELU(W1 x/rms(x)) + b of a block's output, those of one of its sums.
func (r depthReader) connections(block string, way, sources int) [][]float64 {
	w1, w2, bias := r.values(block+".mudd.w1"), r.values(block+".mudd.w2"), r.values(block+".mudd.bias")
	var all [][]float64
	for _, x := range r.rows(block + ".feedforward.stream") {
		hidden, scale := make([]float64, len(w1)/len(x)), 1/rms(x)
		for h := range hidden {
			z := 0.0
			for d := range x {
				z += x[d] * scale * w1[d*len(hidden)+h]
			}
			hidden[h] = z / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(z+0.044715*z*z*z)))
		}
		var weights []float64
		for j := way * sources; j < (way+1)*sources; j++ {
			a := bias[j]
			for h, v := range hidden {
				a += v * w2[h*len(bias)+j]
			}
			weights = append(weights, a)
		}
		all = append(all, weights)
	}
	return all
}
