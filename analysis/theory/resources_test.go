package theory

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/stream"
)

// The sums of the parts are what models counts, for the presets and for configs that set apart
// every size.
func TestExactIsTheModelsOwnCount(t *testing.T) {
	configs := map[string]models.Config{"matrix": tinyRMT(3, 5, 6, 7, 11), "vector": tinyTransformer(3, 10, 5, 11), "heads": tinyTransformer(3, 10, 3, 11)}
	heads := configs["heads"]
	heads.Attention.HeadDim = 8
	configs["heads"] = heads
	for _, p := range models.Standard().Presets() {
		c, err := p.Config.Resolve()
		require.NoError(t, err)
		if _, err := checkCountable(p.Name, c); err == nil {
			configs[p.Name] = p.Config
		}
	}
	require.Greater(t, len(configs), 12)
	for name, c := range configs {
		for _, tie := range []bool{false, true} {
			for _, positions := range []string{models.PositionsLearned, models.PositionsALiBi, models.PositionsNone} {
				c.TieEmbeddings, c.Attention.Positions = tie, positions
				model, err := c.Resolve()
				require.NoError(t, err)
				r, err := CountResources(name, model)
				require.NoError(t, err)
				cost := model.Cost()
				assert.Equal(t, cost.Parameters, r.Parameters.Exact, "%s %v %s", name, tie, positions)
				assert.Equal(t, cost.ForwardFLOPs, r.FLOPs.Exact, "%s %v %s", name, tie, positions)
			}
		}
	}
}

// The corrected sums are the closed forms that Table 7 means.
func TestCorrectedTotals(t *testing.T) {
	const l, dk, dv, r, ff, v, n = 3, 5, 6, 7, 11, 13, 17
	matrix, err := CountResources("matrix", resolve(t, tinyRMT(l, dk, dv, r, ff)))
	require.NoError(t, err)
	assert.Equal(t, 2*r*dv*v+r*dv*n+2*l*r*dv*ff+3*r*dk*(2*l+1), matrix.Parameters.Corrected)
	assert.Equal(t, 4*r*dv*v+2*r*dv*n+4*l*r*dv*ff+4*l*n*r*dv+6*r*dk*dv*(2*l+1), matrix.FLOPs.Corrected)
	assert.Equal(t, r*dv*v+r*dv*n+2*l*r*dv*ff+2*r*dk*(3*l+1), matrix.Parameters.Printed)
	assert.Equal(t, 6*r*dk*dv*(1+l)+r*(4*v*dv+l*(4*n*dv+3*n+4*dv*ff)), matrix.FLOPs.Printed)
	assert.Equal(t, 4*r*v+2*r*dv*n+4*l*r*dv*ff+4*l*n*r*dv+6*r*dk*dv*(l+1), matrix.FLOPs.Implied)
	assert.Equal(t, matrix.Parameters.Corrected, matrix.Parameters.Implied)

	const d = 10
	vector, err := CountResources("vector", resolve(t, tinyTransformer(l, d, 5, ff)))
	require.NoError(t, err)
	assert.Equal(t, 2*d*v+l*(4*d*d+2*d*ff), vector.Parameters.Corrected)
	assert.Equal(t, 4*d*v+2*l*(4*d*d+2*d*ff)+4*l*n*d, vector.FLOPs.Corrected)
	assert.Equal(t, d*v+l*(4*d*d+2*d*ff), vector.Parameters.Printed)
	assert.Equal(t, 4*v+4*l*d*(2*d+ff)+4*l*n*d+3*l*n*5, vector.FLOPs.Printed)
	assert.Equal(t, 4*v+2*l*(4*d*d+2*d*ff)+4*l*n*d, vector.FLOPs.Implied, "without the softmax")
}

// Table 7 prints 4 V R Dv for the RMT's vocabulary, and Tables 3 and 4 have used 4 V R.
func TestTable7AtGPT2Medium(t *testing.T) {
	table, err := NewResourceTable(mediumRMT, mediumTransformer)
	require.NoError(t, err)
	for i, want := range []struct{ printed, implied, corrected, exact float64 }{{669.26, 467.1, 679.2, 550.1}, {655.10, 654.5, 860.2, 732.1}} {
		f := table.Models[i].FLOPs
		assert.InDelta(t, want.printed, float64(f.Printed)/1e6, 0.005)
		assert.InDelta(t, want.implied, float64(f.Implied)/1e6, 0.05)
		assert.InDelta(t, want.corrected, float64(f.Corrected)/1e6, 0.05)
		assert.InDelta(t, want.exact, float64(f.Exact)/1e6, 0.05)
	}
}

func TestCountResourcesRefuses(t *testing.T) {
	for want, change := range map[error]func(zoo models.Zoo) (models.Preset, error){
		check.ValueError{Name: "m: stream", Got: "mhc"}:       func(zoo models.Zoo) (models.Preset, error) { return zoo.Preset("mhc-162m") },
		check.ValueError{Name: "m: experts", Got: "8"}:        func(zoo models.Zoo) (models.Preset, error) { return zoo.Preset("moe-8x2") },
		check.ValueError{Name: "m: loops", Got: "3"}:          func(zoo models.Zoo) (models.Preset, error) { return zoo.Preset("quickstart-looped") },
		check.ValueError{Name: "m: feedforward", Got: "none"}: func(zoo models.Zoo) (models.Preset, error) { return zoo.Preset("attention-only") },
		check.ValueError{Name: "m: bias"}: func(zoo models.Zoo) (models.Preset, error) {
			p, err := zoo.Preset("rmt-46m")
			p.Config.Bias = true
			return p, err
		},
	} {
		p, err := change(models.Standard())
		require.NoError(t, err)
		_, err = CountResources("m", resolve(t, p.Config))
		assert.ErrorIs(t, err, want)
	}
	_, err := NewResourceTable("rmt-1m")
	assert.ErrorContains(t, err, `got "rmt-1m"`)
}

// The sizes as the paper prints them, and the counts that round to them: never that of Table 7's
// totals, whose vocabulary is counted once.
func TestModelSizes(t *testing.T) {
	sizes, err := newModelSizes()
	require.NoError(t, err)
	printed := map[string]float64{}
	for _, m := range sizes.Models {
		printed[m.Model] = m.Paper
		assert.Equal(t, "corrected, exact", m.Reading, m.Model)
		assert.Less(t, m.Printed, m.Corrected)
		assert.Less(t, m.Corrected, m.Exact)
	}
	assert.Equal(t, map[string]float64{
		"rmt-46m": 46, "rmt-134m": 134, "rmt-206m": 206, "rmt-305m": 305,
		"transformer-49m": 49, "transformer-162m": 160, "transformer-264m": 260, "transformer-405m": 405,
	}, printed)
}

// In Table 9's rows of 206M and 305M the column Dk holds R Dv and the column Dv holds Dk: read so,
// the sizes are the printed ones, and read as printed they are not.
func TestShapes(t *testing.T) {
	shapes, err := NewShapes()
	require.NoError(t, err)
	require.Len(t, shapes.Shapes, 4)
	printedRow := map[string][2]int{}
	for i, s := range shapes.Shapes {
		printedRow[s.Model] = [2]int{s.PrintedDk, s.PrintedDv}
		assert.InDelta(t, s.Paper, float64(s.Parameters)/1e6, 0.5, s.Model)
		assert.Less(t, s.LeastDv, float64(s.Dv), s.Model)
		assert.Greater(t, s.MostDv, float64(s.Dv), s.Model)
		if i < 2 {
			assert.Equal(t, [2]int{s.Dk, s.Dv}, printedRow[s.Model], s.Model)
			continue
		}
		assert.Equal(t, [2]int{s.Rank * s.Dv, s.Dk}, printedRow[s.Model], s.Model)
		assert.Greater(t, math.Abs(float64(s.PrintedParameters)/1e6-s.Paper), 2.0, s.Model)
	}
	assert.Equal(t, [2]int{896, 48}, printedRow["rmt-206m"])
	assert.Equal(t, [2]int{1024, 64}, printedRow["rmt-305m"])
	assert.Equal(t, []int{48, 64, 3072}, []int{shapes.Shapes[2].Dk, shapes.Shapes[2].Dv, shapes.Shapes[2].Stream})
	assert.Equal(t, []int{64, 64, 4096}, []int{shapes.Shapes[3].Dk, shapes.Shapes[3].Dv, shapes.Shapes[3].Stream})
}

// tinyRMT and tinyTransformer have a vocabulary of 13 ids, and rows of 17 tokens.
func tinyRMT(blocks, dk, dv, rank, ff int) models.Config {
	return models.Config{Stream: stream.MatrixConfig{Dk: dk, Dv: dv, Rank: rank}, Layers: blocks, FeedForward: layers.GELUConfig{Hidden: ff}, Vocab: 13, Seq: 17}
}

func tinyTransformer(blocks, d, heads, ff int) models.Config {
	c := models.Transformer(blocks, d, ff, heads)
	c.Vocab, c.Seq = 13, 17
	return c
}

func resolve(t *testing.T, c models.Config) models.Spec {
	t.Helper()
	s, err := c.Resolve()
	require.NoError(t, err)
	return s
}
