package models_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// TestPartsCountTheirParameters: each part of a model counts exactly the parameters that it makes.
// The stream counts those that its design makes alone and those of section writes, attention and
// feed-forward the remaining ones with their sites' names, and the unembedding its table; no
// parameter is left over.
func TestPartsCountTheirParameters(t *testing.T) {
	bases := append(append(zooBases(t), moeBase()), tinyVector(matchingHeads), tinyMatrix(experts(3, 0)), tinyVector(sharedHeads), tinyMatrix(sharedHeads), tinyVector(preparedHeads), tinyMatrix(preparedHeads))
	for _, p := range modeltest.Small(models.Standard()) {
		bases = append(bases, p.Config)
	}
	covered := map[string]bool{}
	for _, base := range bases {
		covered[base.Stream.Name()] = true
		checkParts(t, base)
		base.Norm, base.Bias, base.Attention.Positions = models.NormLayer, true, models.PositionsNone
		checkParts(t, base)
		base.TieEmbeddings = true
		if problem(base) == nil {
			checkParts(t, base)
		}
	}
	assert.Len(t, covered, len(models.Standard().Streams()), "every design")
}

// matchingHeads gives a config heads that together are not as wide as the model.
func matchingHeads(c *models.Config) { c.Attention.HeadDim = 4 }

// sharedHeads gives a config heads that share one head of keys and values.
func sharedHeads(c *models.Config) { c.Attention.KVHeads = 1 }

// preparedHeads gives a config heads with QK-norm and a value residual.
func preparedHeads(c *models.Config) {
	c.Attention.QKNorm, c.Attention.ValueResidual = true, models.ValuesLearned
}

func checkParts(t *testing.T, config models.Config) {
	t.Helper()
	b, c := graph.On(gorgonia.NewGraph(), graph.Options{}), modeltest.Resolve(t, config)
	c.Design().New(b)
	require.NoError(t, b.Err())
	made := map[string]float64{string(stream.Attention): 0}
	for _, p := range modeltest.NewStore(t, c, tensor.Float32, 0).Params() {
		part := models.PartStream
		if b.Store().Param(p.Name) == nil {
			part = models.PartUnembedding
			switch {
			case c.Writes != nil && strings.HasSuffix(p.Name, "conv"):
				part = models.PartStream
			case strings.Contains(p.Name, ".attention."):
				part = string(stream.Attention)
			case p.Name != "unembedding":
				require.Contains(t, p.Name, ".feedforward.", c.Stream.Name())
				require.True(t, strings.HasPrefix(p.Name, "blocks."), p.Name)
				part = string(stream.FeedForward)
			}
		}
		made[part] += float64(p.Size())
	}
	sum := 0.0
	for _, part := range c.Parts() {
		assert.Equal(t, made[part.Name], part.Cost.Parameters, "%s: parameters of the part %s", c.Stream.Name(), part.Name)
		assert.LessOrEqual(t, part.Cost.Tables, part.Cost.Parameters, part.Name)
		sum += part.Cost.Parameters
		delete(made, part.Name)
	}
	assert.Empty(t, made, "parameters of no part")
	assert.Equal(t, c.Cost().Parameters, int(sum))
}
