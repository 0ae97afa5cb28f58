package analysis_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/designrows"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/mixing"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// mixingModel is a model on a stream, and a row of ids.
func mixingModel(t *testing.T, design stream.Design) (models.Spec, []int32) {
	c := models.Transformer(2, 8, 16, 2)
	c.Vocab, c.Seq = 11, 6
	return modeltest.Resolve(t, c.OnStream(design)), []int32{3, 1, 4, 1, 5, 9}
}

// placeOf is the place of a name and kind.
func placeOf(t *testing.T, m *mixing.Moves, name string, kind stream.MixingKind) mixing.Place {
	for _, p := range m.Places {
		if p.Name == name && p.Kind == kind {
			return p
		}
	}
	require.Fail(t, "no such place", "%s %s", name, kind)
	return mixing.Place{}
}

// TestNothingHasMovedAtFirst: whatever the stream, a model before its first step is at its start,
// whatever the seed where the start is not random; A_res of streams that start at the identity
// amplify nothing.
func TestNothingHasMovedAtFirst(t *testing.T) {
	all := designrows.Read[[]mixingRow](t, "mixing")
	for design, rows := range all {
		of, err := models.Standard().Stream(design)
		require.NoError(t, err)
		for i, row := range rows {
			t.Run(fmt.Sprintf("%s/%d", design, i), func(t *testing.T) { row.checkStart(t, of) })
		}
	}
	for _, p := range modeltest.Small(models.Standard()) {
		if c := modeltest.Resolve(t, p.Config); all[c.Stream.Name()] == nil {
			_, err := mixing.Start(c, 1, []int32{3, 1, 4, 1})
			require.ErrorIs(t, err, mixing.ErrNone, "want models under mixing in testdata/designs/%s.yaml", c.Stream.Name())
		}
	}
}

// mixingRow is a design's model that starts with its coefficients at their start.
type mixingRow struct {
	Of    map[string]any // settings of the stream
	Gates bool           // what mixes is about 1 at first
}

func (row mixingRow) checkStart(t *testing.T, of stream.Design) {
	c, ids := mixingModel(t, designrows.Model{"stream": row.Of}.On(t, of.Name(), models.Transformer(2, 8, 16, 2)).Stream)
	start, err := mixing.Start(c, 1, ids)
	require.NoError(t, err)
	again, err := mixing.Start(c, 1, ids)
	require.NoError(t, err)
	m := again.Since(start)
	require.NotEmpty(t, m.Places)
	for _, p := range m.Places {
		assert.Zero(t, p.Moved, p.Name)
		if p.Kind == stream.MixingGate || row.Gates {
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
}

func TestStreamsThatDoNotMix(t *testing.T) {
	c, ids := mixingModel(t, stream.VectorConfig{})
	store := modeltest.NewStore(t, c, tensor.Float32, 1)
	_, err := mixing.Run(store, c, ids)
	require.ErrorIs(t, err, mixing.ErrNone)
	_, err = analysis.AblateRows(t.Context(), store, c, ids)
	require.ErrorIs(t, err, mixing.ErrNone)
	_, err = analysis.AblateSources(t.Context(), store, c, ids)
	require.ErrorIs(t, err, mixing.ErrNone)
}

// TestMixingHistory: what a run has logged is read from its folder, whichever path of it is given.
func TestMixingHistory(t *testing.T) {
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
	require.NoError(t, os.WriteFile(filepath.Join(run, "metrics.jsonl"), []byte("{\n"), 0o644))
	_, err = mixing.ReadHistory(run)
	assert.ErrorContains(t, err, "metrics.jsonl")
	require.NoError(t, os.WriteFile(filepath.Join(run, "metrics.jsonl"), []byte(lines+`{"step":3,"lo`), 0o644))
	all, err = mixing.ReadHistory(run)
	require.NoError(t, err, "the end of a line that a run has not written yet, or was killed in")
	assert.Len(t, all, 1)
}
