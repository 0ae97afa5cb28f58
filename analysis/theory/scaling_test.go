package theory

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/models/check"
)

func TestScaling(t *testing.T) {
	s, err := NewScaling(presetModel(mediumRMT), presetModel(mediumTransformer), FigureSizes())
	require.NoError(t, err)
	matrix := presetModel(mediumRMT)
	for i, size := range FigureSizes() {
		for _, line := range s.lines() {
			assert.Equal(t, size, line[i].StreamSize)
		}
		// The closed form of what a larger Dk adds.
		dk, sites := size/matrix.HeadDim()-FigureSizes()[0]/matrix.HeadDim(), 2*matrix.Layers+1
		assert.Equal(t, dk*sites*(3*matrix.HeadCount()+matrix.HeadDim()), s.Matrix[i].Parameters-s.Matrix[0].Parameters)
		assert.Equal(t, dk*sites*6*matrix.HeadCount()*matrix.HeadDim(), s.Matrix[i].ForwardFLOPs-s.Matrix[0].ForwardFLOPs)
		// All of a transformer's parameters have one axis of the stream.
		assert.Equal(t, s.Transformer[0].Parameters*size, s.Transformer[i].Parameters*FigureSizes()[0])
	}
	parameters, flops := Growth(s.Matrix)
	assert.Less(t, parameters, 1.01)
	assert.Less(t, flops, 1.1)
	parameters, flops = Growth(s.Transformer)
	assert.Greater(t, min(parameters, flops), 7.0)
	held, _ := Growth(s.Transformer)
	parameters, flops = Growth(s.Proportional)
	assert.Greater(t, min(parameters, flops), 5*held)

	small := presetModel("rmt-134m")
	vector := presetModel("transformer-162m")
	s, err = NewScaling(small, vector, []int{768, 1536})
	require.NoError(t, err)
	own := presetModel("transformer-d1536")
	assert.Equal(t, own.Cost().Parameters, s.Proportional[1].Parameters, "in proportion is what the preset is")
}

func TestScalingRefuses(t *testing.T) {
	matrix := presetModel("rmt-134m")
	vector := presetModel("transformer-162m")
	_, err := NewScaling(vector, matrix, FigureSizes())
	assert.ErrorIs(t, err, check.ValueError{Name: "streams", Got: "vector and matrix"})
	for _, size := range []int{0, -64, 100} {
		_, err = NewScaling(matrix, vector, []int{size})
		assert.ErrorIs(t, err, check.ValueError{Name: "stream size", Got: fmt.Sprint(size)})
	}
}
