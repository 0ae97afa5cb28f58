package analysis_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models/mixing"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// TestWhatReachesReaders: in a stream of rows it is the product of the coefficients, which are set
// by hand here.
func TestWhatReachesReaders(t *testing.T) {
	c, ids := mixingModel(t, stream.HyperConfig{N: 2})
	store := modeltest.PerturbedStore(t, c, tensor.Float64)
	// A row of the packed parameter is down | carry | up; row i of it is what row i of the stream
	// gives.
	copy(store.Param("blocks.0.attention.hyper.static").Value.Float64s(), []float64{0.5, 2, 1, 3, 0.25, 0, 1, 4})
	copy(store.Param("blocks.0.feedforward.hyper.static").Value.Float64s(), []float64{2, 1, 0, 5, 1, 1, 2, 6})
	d, err := analysis.Reach(store, c, ids)
	require.NoError(t, err)
	of := func(reader int, source string) float64 {
		for _, w := range d.Reads[reader].Weights {
			if w.Source == source {
				assert.Zero(t, w.Spread, "static")
				return w.Mean
			}
		}
		return math.NaN()
	}
	assert.Equal(t, "blocks.0.feedforward", d.Reads[1].Reader)
	assert.InDelta(t, 0.75, of(0, "embedding.tokens"), 1e-12, "0.5 + 0.25 of two rows that are alike")
	assert.True(t, math.IsNaN(of(0, "blocks.0.attention")), "it writes later")
	assert.InDelta(t, 2*3+1*4, of(1, "blocks.0.attention"), 1e-12)
	assert.InDelta(t, 2*2+1*(1+1), of(1, "embedding.tokens"), 1e-12, "rows are 2 x_0 and x_0 + x_1 by then")
	assert.Equal(t, "unembedding", d.Reads[4].Reader)
	require.NoError(t, figure.Check(d.Figures()[0]))
}

// TestMovesByHand: static hyper-connections whose coefficients are set by hand: A_down [1, n],
// A_res [n, n] and B_up [n, 1] lie where the linear form has them, and gains multiply through
// depth.
func TestMovesByHand(t *testing.T) {
	c, ids := mixingModel(t, stream.HyperConfig{N: 2})
	store := modeltest.NewStore(t, c, tensor.Float32, 1)
	start, err := mixing.Run(store, c, ids)
	require.NoError(t, err)
	// A row of the packed parameter is down | carry | up; row i of it is what row i of the stream
	// gives.
	for l, site := range []string{"blocks.0.attention", "blocks.0.feedforward", "blocks.1.attention", "blocks.1.feedforward"} {
		copy(store.Param(site+".hyper.static").Value.Float32s(), []float32{0.5, 2, 1, 3, float32(l), 0, 1, 4})
	}
	now, err := mixing.Run(store, c, ids)
	require.NoError(t, err)
	m := now.Since(start)
	assert.Equal(t, [][]float64{{0.5, 0}}, placeOf(t, m, "blocks.0.attention", stream.MixingDown).Mean)
	carry := placeOf(t, m, "blocks.0.attention", stream.MixingCarry)
	assert.Equal(t, [][]float64{{2, 0}, {1, 1}}, carry.Mean, "new row 0 is 2 of old row 0; new row 1 is old row 0 and old row 1")
	assert.InDelta(t, math.Sqrt((1.0+1.0)/4), carry.Moved, 1e-6, "from the identity: 2 for 1, 1 for 0")
	assert.Zero(t, carry.Spread)
	assert.Equal(t, []float64{2, 3, 0.5}, []float64{carry.Carry.RowGain, carry.Carry.ColumnGain, carry.Carry.OffDiagonal})
	assert.Equal(t, [][]float64{{3}, {4}}, placeOf(t, m, "blocks.0.feedforward", stream.MixingUp).Mean)
	// [[2, 0], [1, 1]]^2 = [[4, 0], [3, 1]]
	second := placeOf(t, m, "blocks.0.feedforward", stream.MixingCarry).Carry
	assert.Equal(t, []float64{4, 7, 2.5}, []float64{second.CompositeRows, second.CompositeColumns, second.CompositeDiagonal})
}

// TestRescueOfRows: a row that is given back at once regains all that nobody else has taken of it.
// Without mixing, and where no site reads the row, that is all; the loss of the untouched run is
// the model's.
func TestRescueOfRows(t *testing.T) {
	c, ids := mixingModel(t, stream.HyperConfig{N: 2})
	store := modeltest.PerturbedStore(t, c, tensor.Float32)
	// The next site reads row 1 alone, and carries each row as it is.
	copy(store.Param("blocks.0.feedforward.hyper.static").Value.Float32s(), []float32{0, 1, 0, 1, 1, 0, 1, 1})
	r, err := analysis.AblateRows(t.Context(), store, c, ids)
	require.NoError(t, err)
	assert.Equal(t, []string{"blocks.0.attention.stream", "blocks.0.feedforward.stream", "blocks.1.attention.stream"}, r.Sites)
	require.NotNil(t, r.Rescued[0][0], "%v", r.Ablated)
	assert.InDelta(t, 1, *r.Rescued[0][0], 1e-5)
	if share := r.Rescued[0][1]; share != nil {
		assert.NotEqual(t, 1.0, *share, "the feed-forward has read row 1")
	}
	require.NoError(t, figure.Check(r.Table()))
	for _, f := range r.Figures() {
		require.NoError(t, figure.Check(f))
	}
	_, err = json.Marshal(r)
	require.NoError(t, err)
}
