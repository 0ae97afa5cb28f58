package mixing_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis/mixing"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// tiny is a model on a stream, and a row of ids.
func tiny(t *testing.T, design stream.Design) (models.Spec, []int32) {
	c := models.Transformer(2, 8, 16, 2)
	c.Vocab, c.Seq = 11, 6
	return modeltest.Resolve(t, c.OnStream(design)), []int32{3, 1, 4, 1, 5, 9}
}

// at is the place of a name and kind.
func at(t *testing.T, m *mixing.Moves, name string, kind stream.MixingKind) mixing.Place {
	for _, p := range m.Places {
		if p.Name == name && p.Kind == kind {
			return p
		}
	}
	require.Fail(t, "no such place", "%s %s", name, kind)
	return mixing.Place{}
}

// TestNothingHasMovedAtFirst: whatever the stream, a model before its first step is at its start, whatever the seed where the
// start is not random; A_res of streams that start at the identity amplify nothing.
func TestNothingHasMovedAtFirst(t *testing.T) {
	for _, d := range []stream.Design{stream.HyperConfig{N: 3}, stream.HyperConfig{N: 2, Dynamic: true}, stream.MHCConfig{N: 4}, stream.MHCLiteConfig{N: 3},
		stream.VWNConfig{M: 2, N: 3}, stream.DenseFormerConfig{}, stream.MUDDConfig{}, stream.KromHCConfig{N: 2},
		stream.GatedResidualConfig{N: 3, Rank: 4}, stream.DeepDeltaConfig{Dv: 2}, stream.WideConfig{N: 3}, stream.AttnResConfig{Block: 1}} {
		t.Run(d.Name(), func(t *testing.T) {
			c, ids := tiny(t, d)
			start, err := mixing.Start(c, 1, ids)
			require.NoError(t, err)
			again, err := mixing.Start(c, 1, ids)
			require.NoError(t, err)
			m := again.Since(start)
			require.NotEmpty(t, m.Places)
			for _, p := range m.Places {
				assert.Zero(t, p.Moved, p.Name)
				if p.Kind == stream.MixingGate || d.Name() == (stream.GatedResidualConfig{}).Name() {
					assert.InDelta(t, 1, p.Mean[0][0], 0.5, "%s: 2 sigmoid of about 0", p.Name)
				}
				if p.Carry != nil {
					assert.InDelta(t, 1, p.Carry.CompositeRows, 0.02, "%s: doubly stochastic, or the identity", p.Name)
					assert.InDelta(t, 1, p.Carry.CompositeColumns, 0.02, p.Name)
				}
			}
			require.NoError(t, figure.Check(m.Table()))
			for _, f := range m.Figures() {
				require.NoError(t, figure.Check(f))
			}
		})
	}
}

// TestMovesByHand: static hyper-connections whose coefficients are set by hand: A_down [1, n], A_res [n, n] and B_up [n, 1] lie where the
// linear form has them, and gains multiply through depth.
func TestMovesByHand(t *testing.T) {
	c, ids := tiny(t, stream.HyperConfig{N: 2})
	store := modeltest.NewStore(t, c, tensor.Float32, 1)
	start, err := mixing.Run(store, c, ids)
	require.NoError(t, err)
	// A row of the packed parameter is down | carry | up; row i of it is what row i of the stream gives.
	for l, site := range []string{"blocks.0.attention", "blocks.0.feedforward", "blocks.1.attention", "blocks.1.feedforward"} {
		copy(store.Param(site+".hyper.static").Value.Float32s(), []float32{0.5, 2, 1, 3, float32(l), 0, 1, 4})
	}
	now, err := mixing.Run(store, c, ids)
	require.NoError(t, err)
	m := now.Since(start)
	assert.Equal(t, [][]float64{{0.5, 0}}, at(t, m, "blocks.0.attention", stream.MixingDown).Mean)
	carry := at(t, m, "blocks.0.attention", stream.MixingCarry)
	assert.Equal(t, [][]float64{{2, 0}, {1, 1}}, carry.Mean, "new row 0 is 2 of old row 0; new row 1 is old row 0 and old row 1")
	assert.InDelta(t, math.Sqrt((1.0+1.0)/4), carry.Moved, 1e-6, "from the identity: 2 for 1, 1 for 0")
	assert.Zero(t, carry.Spread)
	assert.Equal(t, []float64{2, 3, 0.5}, []float64{carry.Carry.RowGain, carry.Carry.ColumnGain, carry.Carry.OffDiagonal})
	assert.Equal(t, [][]float64{{3}, {4}}, at(t, m, "blocks.0.feedforward", stream.MixingUp).Mean)
	// [[2, 0], [1, 1]]^2 = [[4, 0], [3, 1]]
	second := at(t, m, "blocks.0.feedforward", stream.MixingCarry).Carry
	assert.Equal(t, []float64{4, 7, 2.5}, []float64{second.CompositeRows, second.CompositeColumns, second.CompositeDiagonal})
}

// TestEntropyOfDepthWeights: 0 of a sum that reads one source, 1 of one that reads all alike.
func TestEntropyOfDepthWeights(t *testing.T) {
	c, ids := tiny(t, stream.DenseFormerConfig{})
	store := modeltest.NewStore(t, c, tensor.Float32, 1)
	start, err := mixing.Run(store, c, ids)
	require.NoError(t, err)
	copy(store.Param("blocks.1.dwa").Value.Float32s(), []float32{-0.5, 0.5, 0.5})
	now, err := mixing.Run(store, c, ids)
	require.NoError(t, err)
	m := now.Since(start)
	require.Len(t, m.Places, 2)
	assert.Zero(t, *m.Places[0].Entropy)
	assert.InDelta(t, 1, *m.Places[1].Entropy, 1e-12)
	assert.InDelta(t, math.Sqrt(0.25), m.Places[1].Moved, 1e-6)
}

// TestRescue: a row that is given back at once regains all that nobody else has taken of it. Without mixing, and where no site
// reads the row, that is all; the loss of the untouched run is the model's.
func TestRescue(t *testing.T) {
	c, ids := tiny(t, stream.HyperConfig{N: 2})
	store := modeltest.PerturbedStore(t, c, tensor.Float32)
	// The next site reads row 1 alone, and carries each row as it is.
	copy(store.Param("blocks.0.feedforward.hyper.static").Value.Float32s(), []float32{0, 1, 0, 1, 1, 0, 1, 1})
	r, err := mixing.AblateRows(store, c, ids)
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

func TestStreamsThatDoNotMix(t *testing.T) {
	c, ids := tiny(t, stream.VectorConfig{})
	store := modeltest.NewStore(t, c, tensor.Float32, 1)
	_, err := mixing.Run(store, c, ids)
	require.ErrorIs(t, err, mixing.ErrNone)
	_, err = mixing.AblateRows(store, c, ids)
	require.ErrorIs(t, err, mixing.ErrNone)
	_, err = mixing.AblateSources(store, c, ids)
	require.ErrorIs(t, err, mixing.ErrNone)
}

// TestHistory: what a run has logged is read from its folder, whichever path of it is given.
func TestHistory(t *testing.T) {
	run := t.TempDir()
	step := filepath.Join(run, "checkpoints", "step-00000002")
	require.NoError(t, os.MkdirAll(step, 0o755))
	lines := `{"step":1,"loss":3}
{"step":2,"loss":3,"mixing":[{"name":"a","kind":"A_res","moved":0.5,"spread":0},{"name":"b","kind":"A_res","moved":0.25,"spread":0},{"name":"a","kind":"B_up","moved":1,"spread":0}]}
`
	require.NoError(t, os.WriteFile(filepath.Join(run, "metrics.jsonl"), []byte(lines), 0o644))
	for _, path := range []string{run, step, filepath.Join(step, "model.safetensors")} {
		all, err := mixing.ReadHistory(path)
		require.NoError(t, err)
		require.Len(t, all, 1, path)
		table := mixing.History(all).Table()
		assert.Equal(t, []string{"step", "A_res", "B_up"}, table.Header)
		assert.Equal(t, [][]string{{"2", "0.3750", "1.0000"}}, table.Rows)
	}
	all, err := mixing.ReadHistory(filepath.Join(t.TempDir(), "model"))
	require.NoError(t, err)
	assert.Empty(t, all)
	require.NoError(t, os.WriteFile(filepath.Join(run, "metrics.jsonl"), []byte("{"), 0o644))
	_, err = mixing.ReadHistory(run)
	assert.ErrorContains(t, err, "metrics.jsonl")
}
