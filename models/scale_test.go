package models_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// TestAttentionScale measures the factor of q.k in each block: 1/sqrt(Dh); with inverse layer
// scaling divided by the block's number, counted from 1; with muP multiplier*sqrt(base Dh)/Dh.
func TestAttentionScale(t *testing.T) {
	none := func(c *models.Config) { c.Layers, c.Attention.Positions = 3, models.PositionsNone }
	for _, row := range []struct {
		name   string
		config models.Config
		change func(c *models.Config)
		want   func(block float64) float64
	}{
		{"matrix", tinyMatrix(none), func(*models.Config) {}, func(float64) float64 { return 1 / math.Sqrt(6) }},
		{"vector", tinyVector(none), func(*models.Config) {}, func(float64) float64 { return 1 / math.Sqrt(5) }},
		{"inverse", tinyMatrix(none), func(c *models.Config) { c.Attention.InverseLayerScaling = true }, func(block float64) float64 { return 1 / math.Sqrt(6) / (block + 1) }},
		{"matrix mup", tinyMatrix(none), func(c *models.Config) {
			c.MuP = &models.MuP{Base: models.MuPBase{Stream: stream.MatrixConfig{Dv: 4}}, AttnMultiplier: 1.5}
		}, func(float64) float64 { return 1.5 * 2 / 6 }},
		{"vector mup", tinyVector(none), func(c *models.Config) {
			c.Attention.InverseLayerScaling = true
			c.MuP = &models.MuP{Base: models.MuPBase{Attention: models.BaseHeads{HeadDim: 9}}, AttnMultiplier: 1.5}
		}, func(block float64) float64 { return 1.5 * 3 / 5 / (block + 1) }},
		{"mup without bases", tinyVector(none), func(c *models.Config) { c.MuP = &models.MuP{} }, func(float64) float64 { return 1 / math.Sqrt(5) }},
	} {
		row.change(&row.config)
		for block := range row.config.Layers {
			got := measureScale(t, modeltest.Resolve(t, row.config), block)
			require.InEpsilon(t, row.want(float64(block)), got, 1e-12, "%s, block %d", row.name, block)
		}
	}
}

// measureScale gives attention q.k = 1 for token 0 and 0 for token 1, and values 1 and 0:
// token 1 gets the weight 1/(1+exp(-scale)) of token 0.
func measureScale(t *testing.T, spec models.Spec, block int) float64 {
	qkv, heads := fmt.Sprintf("blocks.%d.attention.qkv", block), fmt.Sprintf("blocks.%d.attention.heads", block)
	part := spec.HeadCount() * spec.HeadDim()
	known := func(_ string, x *tensor.Dense) error {
		tokens := x.Float64s()
		clear(tokens)
		tokens[3*part] = 1   // q of token 1
		tokens[part] = 1     // k of token 0
		tokens[2*part+0] = 1 // v of token 0
		return nil
	}
	p := modeltest.Compile(t, spec, modeltest.NewStore(t, spec, tensor.Float64, 0), modeltest.Setup{Rows: 1, Seq: 2, Hooks: graph.Hooks{qkv: known, heads: nil}})
	p.On(t, modeltest.RandomBatch(spec, 1, 2, 1), graph.RunOptions{})
	o, err := p.Hooked(heads)
	require.NoError(t, err)
	weight := o.Float64s()[part]
	return math.Log(weight / (1 - weight))
}
