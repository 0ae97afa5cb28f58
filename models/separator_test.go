package models_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// TestOnlyTheSeparatorTells: a token before the separator changes logits after it, by two layers
// through the separator's stream alone. One layer cannot, nor can two if the separator itself sees
// nothing before it, as a BOS does not.
func TestOnlyTheSeparatorTells(t *testing.T) {
	const separator, at = 5, 4
	for _, c := range []models.Config{tinyMatrix(plainly), tinyVector(plainly)} {
		for _, cut := range []struct {
			layers, bos, separator int
			reaches                bool
		}{{2, 4, separator, true}, {1, 4, separator, false}, {2, separator, 0, false}} {
			c.Layers, c.MaskDocuments, c.BOS, c.Separator = cut.layers, true, cut.bos, cut.separator
			spec := modeltest.Resolve(t, c)
			p := modeltest.Compile(t, spec, modeltest.PerturbedStore(t, spec, tensor.Float64), modeltest.Setup{Rows: 1})
			logits := func(source int32) []float64 {
				b := modeltest.Batch{Inputs: []int32{4, source, 7, 8, separator, 7, 8, 9, 7}, Targets: make([]int32, 9), Rows: 1, Seq: 9}
				return p.On(t, b).Logits
			}
			before, after := logits(6), logits(10)
			require.NotEqual(t, before[2*spec.Vocab:at*spec.Vocab], after[2*spec.Vocab:at*spec.Vocab], "what is before the separator sees the source")
			require.Equal(t, cut.separator > 0, before[at*spec.Vocab] != after[at*spec.Vocab], "the separator sees the source")
			for i := at + 1; i < spec.Seq; i++ {
				require.Equal(t, cut.reaches, before[i*spec.Vocab] != after[i*spec.Vocab], "%s, %d layers, token %d", c.Stream.Name(), cut.layers, i)
			}
		}
	}
}
