package analysis_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/analysis/memory"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/pretrained"
	"github.com/residua-go/residua/stream"
)

// out are the rows [n, Dk*Dv] along which a writer writes to a matrix stream.
func (m rmt) out(name string) *mat.Dense {
	site, head := siteOf(name)
	switch {
	case name == "embedding" || name == "positions":
		table := parameter(m.t, m.store, name, m.store.Param(name).Shape[0])
		if name == "embedding" && m.c.MuP != nil {
			table.Scale(m.c.MuP.InputMultiplier, table)
		}
		return times(table, m.whole(parameter(m.t, m.store, "write_"+name, m.s.Rank)))
	case head != "":
		return m.whole(m.key(site+".write", int(head[0]-'0'), ""))
	}
	written := m.whole(parameter(m.t, m.store, site+".write", m.s.Rank))
	if strings.HasSuffix(site, "attention") {
		return written
	}
	return times(parameter(m.t, m.store, site+".w2", expertCount(m.c)*hidden(m.c)), written)
}

// in are the columns [Dk*Dv, n] with which a reader reads it.
func (m rmt) in(name string) *mat.Dense {
	site, rest := siteOf(name)
	read, norm := site+".read", site+".norm"
	if name == "unembedding" {
		read, norm = "read_unembedding", "norm"
	}
	keys := parameter(m.t, m.store, read, m.store.Param(read).Size()/m.s.Dk)
	normed := func(keys mat.Matrix) *mat.Dense {
		gain := graph.Float64s(m.store.Param(norm).Value)
		return times(normMatrix(gain, m.c.Norm == models.NormLayer), m.whole(keys.T()))
	}
	switch {
	case name == "unembedding":
		weights := parameter(m.t, m.store, "embedding", m.c.Vocab).T()
		if !m.c.TieEmbeddings {
			weights = parameter(m.t, m.store, "unembedding", m.c.Width()).T().T()
		}
		scaled := mat.DenseCopyOf(weights)
		if m.c.MuP != nil {
			scaled.Scale(m.unembeddingScale(), scaled)
		}
		return times(normed(keys), scaled)
	case rest != "":
		var h int
		var via rune
		_, err := fmt.Sscanf(rest, "%d.%c", &h, &via)
		require.NoError(m.t, err)
		part := strings.IndexRune("qkv", via)
		row := h
		if part > 0 {
			row = m.c.HeadCount() + (part-1)*m.c.KVHeads() + h*m.c.KVHeads()/m.c.HeadCount()
		}
		return times(normed(keys.Slice(row, row+1, 0, m.s.Dk)), attentionGain(m.c, m.store, site+".", part))
	}
	weights := valueAndGate(m.c, m.store, site)
	return times(normed(keys), weights)
}

// unembeddingScale is muP's of the logits.
func (m rmt) unembeddingScale() float64 {
	base, is := m.c.MuP.Base.Stream.(stream.MatrixConfig)
	if !is {
		return m.c.MuP.OutputMultiplier
	}
	return m.c.MuP.OutputMultiplier * float64(base.Rank*base.Dv) / float64(m.c.Width())
}

// valueAndGate are W1 of all experts, or W1 | W3.
func valueAndGate(spec models.Spec, store *graph.Store, site string) *mat.Dense {
	all := expertsOf(spec, store, site+".w1", spec.Width())
	if store.Param(site+".w3") != nil {
		all = append(all, param(store, site+".w3", spec.Width()))
	}
	return sideBySide(all)
}

// TestVirtualWeightsOfKeys: those of a matrix stream are W_out W_in with values, gains and the
// norm's mean, as explicit matrices of Dk*Dv have them.
func TestVirtualWeightsOfKeys(t *testing.T) {
	t.Parallel()
	configs := matrixModels(t)
	delete(configs, "looped") // which rmt does not know; TestLoopsAreTakenApartPassByPass does
	configs["shared"] = varied(t, configs["layernorm"], func(c *models.Config) {
		c.Attention.KVHeads, c.Attention.QKNorm, c.Attention.ValueResidual = 1, true, models.ValuesLearned
	})
	for name, c := range configs {
		t.Run(name, func(t *testing.T) {
			m := rmt{t, modeltest.PerturbedStore(t, c, tensor.Float64), c, matrixOf(c)}
			wiring, err := analysis.Wire(t.Context(), m.store, c, analysis.WiringOptions{FDR: 1})
			require.NoError(t, err)
			requireResult(t, wiring)
			for i, writer := range wiring.Scores.Rows {
				for j, reader := range wiring.Scores.Columns {
					m.checkPair(wiring, i, j, writer, reader)
				}
			}
			for _, pair := range [][2]string{{"blocks.0.attention", "blocks.1.feedforward"}, {"blocks.1.feedforward", "blocks.2.attention.0.k"}} {
				v, err := analysis.Connect(m.store, c, pair[0], pair[1], nil)
				require.NoError(t, err)
				assert.InEpsilon(t, mat.Norm(times(m.out(pair[0]), m.in(pair[1])), 2), v.Norm, 1e-9, pair)
			}
		})
	}
}

func (m rmt) checkPair(wiring *analysis.Wiring, i, j int, writer, reader string) {
	from, _ := siteOf(writer)
	to, _ := siteOf(reader)
	score := wiring.Scores.Values[i][j]
	if position(from) >= position(to) {
		require.True(m.t, math.IsNaN(score), "%s to %s", writer, reader)
		return
	}
	out, in := m.out(writer), m.in(reader)
	weights := times(out, in)
	require.InEpsilon(m.t, mat.Norm(weights, 2)/(mat.Norm(out, 2)*mat.Norm(in, 2)), score, 1e-8, "%s to %s", writer, reader)
	if (i+j)%17 > 0 {
		return
	}
	v, err := analysis.Connect(m.store, m.c, writer, reader, nil)
	require.NoError(m.t, err)
	require.True(m.t, mat.EqualApprox(weights, listed(m.t, v), 1e-9*mat.Norm(weights, 2)), "%s to %s", writer, reader)
	require.InEpsilon(m.t, score, v.Score, 1e-8)
	requireResult(m.t, v)
}

// TestMeanGainsLoseWeights: in a trained stream, one key for all columns, with the mean of the
// norm's gains, keeps only a part of the squared weights with which sites read. (In the quickstart
// model's 4 blocks 6.5% of the keys' and, with weights for values, 12%.)
func TestMeanGainsLoseWeights(t *testing.T) {
	p, err := pretrained.Open("../examples/embedded/model.safetensors")
	require.NoError(t, err)
	defer p.Close()
	s := matrixOf(p.Spec)
	all, folded, most := 0.0, 0.0, 0.0
	for l := range p.Spec.Layers {
		for _, site := range []string{fmt.Sprintf("blocks.%d.attention", l), fmt.Sprintf("blocks.%d.feedforward", l)} {
			keys, gain := parameter(t, p.Store, site+".read", p.Store.Param(site+".read").Size()/s.Dk), parameter(t, p.Store, site+".norm", s.Dk)
			exact, mean := 0.0, 0.0
			for d := range s.Dk {
				column := mat.Norm(keys.ColView(d), 2)
				row := gain.RawRowView(d)
				square, sum := 0.0, 0.0
				for _, g := range row {
					square, sum = square+g*g, sum+g
				}
				exact, mean = exact+column*column*square, mean+column*column*sum*sum/float64(s.Dv)
			}
			all, folded, most = all+exact, folded+mean, max(most, 1-mean/exact)
		}
	}
	assert.InDelta(t, 0.023, 1-folded/all, 1e-3)
	assert.InDelta(t, 0.031, most, 1e-3)
}

// TestKeyLabels: a map of keys says whose they are, and as what attention reads with them.
func TestKeyLabels(t *testing.T) {
	m := newRMT(t)
	keys, err := memory.MeasureKeys(t.Context(), m.store, m.c, 1)
	require.NoError(t, err)
	var rows, columns []string
	for _, f := range keys.Figures() {
		if h, ok := f.(figure.Heatmap); ok && h.YLabel == "reading key" {
			rows, columns = h.Rows, h.Columns
		}
	}
	assert.Equal(t, []string{"blocks.0.attention.0.q", "blocks.0.attention.1.q", "blocks.0.attention.2.q", "blocks.0.attention.0.k"}, rows[:4])
	assert.Equal(t, []string{"blocks.0.attention.2.v", "blocks.0.feedforward key 0"}, rows[8:10])
	assert.Contains(t, columns, "blocks.1.attention.2")
}
