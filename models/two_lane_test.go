package models_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// TestTwoLanesStartAsATransformer: two lanes equal a transformer to the last bit, wherever they
// part, except with parallel sublayers; with other numbers they differ.
func TestTwoLanesStartAsATransformer(t *testing.T) {
	same := startsAs(t)
	for split := range 3 {
		c := modeltest.Resolve(t, tinyZoo(stream.TwoLaneConfig{Split: split}, plainly))
		assert.True(t, same(c, modeltest.NewStore(t, c, tensor.Float64, 0)), "split at %d", split)
	}
	c := modeltest.Resolve(t, tinyZoo(stream.TwoLaneConfig{Parallel: true}, plainly))
	assert.False(t, same(c, modeltest.NewStore(t, c, tensor.Float64, 0)))
}
