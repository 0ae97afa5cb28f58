package report

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/analysis/corpus"
	"github.com/residua-go/residua/analysis/sae"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/stream"
)

// withText gives a model a text of words.
func withText(m *Model) *Model {
	m.Text = func(context.Context, []string, int) (ids []int32, err error) {
		for i := range 40 * m.Spec.Seq {
			ids = append(ids, int32("ab7 \nxyz, 1"[(i*i%7+i*i*i)%11]))
		}
		return ids, nil
	}
	return m
}

// quality trains and returns what is reported.
func quality(t *testing.T, m *Model, o SAE) *Quality {
	t.Helper()
	r, err := analyse(m, o)
	require.NoError(t, err)
	return r.Results["quality"].(*Quality)
}

// TestSAE: an autoencoder of a stream is trained and kept as SAELens' folder, what is reported is
// what plain loops over its outputs give, and features says where each is strongest.
func TestSAE(t *testing.T) {
	m := withText(tiny(t, stream.MatrixConfig{Dk: 6, Dv: 8, Rank: 3}))
	o := SAE{Activation: "blocks.0.attention.stream", Folder: filepath.Join(t.TempDir(), "sae"),
		Options: sae.Options{Features: 64, K: 12, Rate: 0.01, Batch: 32, Passes: 12, Seed: 1}}
	o.Rows = 40
	q := quality(t, m, o)
	assert.Equal(t, 4*m.Spec.Seq, q.Tokens)
	assert.Greater(t, q.Explained, 0.7)
	assert.Greater(t, q.Recovered, 0.3)
	assert.Equal(t, q, quality(t, m, o), "the same call")

	s, err := sae.Open(o.Folder)
	require.NoError(t, err)
	assert.Equal(t, []string{"blocks.0.attention.stream"}, s.Names())
	encoder, err := s.Open(m.Spec.Seq)
	require.NoError(t, err)
	defer encoder.Close()
	rows, _, err := o.Texts.Read(t.Context(), m, nil)
	require.NoError(t, err)
	var values, made []float64
	var loss, replaced float64
	for row := 9; row < 40; row += 10 {
		run, err := cache.Once(m.Store, m.Spec, rows[row].IDs, o.Activation)
		require.NoError(t, err)
		x, err := run.Activation(o.Activation)
		require.NoError(t, err)
		_, y, err := encoder.Run(x)
		require.NoError(t, err)
		values, made = append(values, x...), append(made, y...)
		r, err := cache.ForRow(m.Store, m.Spec, rows[row].IDs, o.Activation)
		require.NoError(t, err)
		defer r.Close()
		with, err := r.Loss(rows[row].IDs, cache.Set(o.Activation, nil, y))
		require.NoError(t, err)
		loss, replaced = loss+run.NextTokenLoss()/4, replaced+with/4
	}
	rest, all := 0.0, 0.0
	for i := range 48 {
		mean := 0.0
		for j := i; j < len(values); j += 48 {
			mean += values[j] / float64(len(values)/48)
		}
		for j := i; j < len(values); j += 48 {
			rest, all = rest+(values[j]-made[j])*(values[j]-made[j]), all+(values[j]-mean)*(values[j]-mean)
		}
	}
	assert.InDelta(t, 1-rest/all, q.Explained, 1e-9)
	assert.InDelta(t, loss, q.Loss, 1e-6)
	assert.InDelta(t, replaced, q.Replaced, 1e-6)

	f := Features{Folder: o.Folder, Examples: 2, Top: 5}
	f.Rows = 10
	r, err := analyse(m, f)
	require.NoError(t, err)
	l := r.Results["features"].(*featureList)
	require.Len(t, l.Of, 5)
	for i, feature := range l.Of {
		require.Len(t, feature.Examples, 2)
		assert.GreaterOrEqual(t, feature.Examples[0].Value, feature.Examples[1].Value)
		assert.GreaterOrEqual(t, l.Of[max(0, i-1)].Examples[0].Value, feature.Examples[0].Value)
		assert.Contains(t, feature.Examples[0].Text, "]")
		assert.InDelta(t, 0.6, *feature.Drawer, 0.4)
	}
	shares := r.Results["drawers"].(*drawerShares)
	assert.Len(t, shares.Features, 64-r.Results["quality"].(*Quality).Dead)
	assert.Contains(t, r.String(), "largest share in one drawer")

	b := s.Store.Param("b_enc").Value.Float32s()
	for i := range b {
		b[i] = -1e6
	}
	require.NoError(t, s.Save(o.Folder))
	r, err = analyse(m, f)
	require.NoError(t, err)
	assert.Equal(t, 64, r.Results["quality"].(*Quality).Dead)
	assert.NotContains(t, r.Results, "drawers", "of no features")
	require.NoError(t, r.Write(t.TempDir()))
}

// TestFeaturesOfAllPrompts: prompts of any lengths are read, and what is told of the tokens of each
// does not depend on how long the others are.
func TestFeaturesOfAllPrompts(t *testing.T) {
	m := withText(tiny(t, stream.MatrixConfig{Dk: 6, Dv: 8, Rank: 3}))
	o := SAE{Folder: t.TempDir(), Options: sae.Options{Features: 64, K: 12, Batch: 32}}
	o.Rows = 40
	quality(t, m, o)
	of := func(prompts ...string) (*Quality, *featureList) {
		r, err := analyse(m, Features{Texts: Texts{Prompts: prompts}, Folder: o.Folder, Top: 64})
		require.NoError(t, err)
		_, err = json.Marshal(r)
		require.NoError(t, err)
		return r.Results["quality"].(*Quality), r.Results["features"].(*featureList)
	}
	whole, features := of("if xyz", "ab", "a")
	assert.Equal(t, 7+3+2, whole.Tokens)
	loss, replaced, active, tokens := 0.0, 0.0, 0.0, map[int]int{}
	for _, prompt := range []string{"if xyz", "ab", "a"} {
		q, one := of(prompt)
		n := float64(len(prompt))
		loss, replaced, active = loss+n*q.Loss/9, replaced+n*q.Replaced/9, active+(n+1)*q.Active/12
		for _, f := range one.Of {
			tokens[f.Feature] += f.Tokens
		}
	}
	assert.InDelta(t, loss, whole.Loss, 1e-6)
	assert.InDelta(t, replaced, whole.Replaced, 1e-6)
	assert.InDelta(t, active, whole.Active, 1e-9)
	require.Len(t, features.Of, len(tokens))
	for _, f := range features.Of {
		assert.Equal(t, tokens[f.Feature], f.Tokens)
	}

	_, _, err := measure(t.Context(), m, &sae.SAE{}, []corpus.Row{{IDs: []int32{3}}}, nil)
	assert.ErrorIs(t, err, check.ValueError{Name: "rows", Got: "1"})
}

// TestTranscoder: a transcoder computes a feed-forward's write from what it reads, in a model of
// vectors, where no feature is a matrix.
func TestTranscoder(t *testing.T) {
	m := withText(tiny(t, stream.VectorConfig{Vectors: stream.Vectors{D: 12}}))
	o := SAE{Activation: "blocks.0.feedforward.norm.out", To: "blocks.0.feedforward.write", Folder: t.TempDir(),
		Options: sae.Options{Architecture: sae.SkipTranscoder, Features: 40, Sparsity: 0.01, Rate: 0.01, Batch: 32, Passes: 12, Seed: 1}}
	o.Rows = 40
	q := quality(t, m, o)
	assert.Greater(t, q.Explained, 0.8)
	f := Features{Folder: o.Folder}
	r, err := analyse(m, f)
	require.NoError(t, err)
	assert.NotContains(t, r.Results, "drawers")
	o.Seed = 2
	_, err = analyse(m, o)
	require.ErrorIs(t, err, check.ValueError{Name: "sae", Got: filepath.Join(o.Folder, stateFile)})
	for want, change := range map[string]func(o *SAE){
		"sae: want a folder, got none": func(o *SAE) { o.Folder = "" },
		"rows: want at least 10":       func(o *SAE) { o.Rows = 9 },
		"to: want an activation of a transcoder, and none of an autoencoder": func(o *SAE) { o.To = "" },
	} {
		o := o
		change(&o)
		_, err := analyse(m, o)
		require.ErrorContains(t, err, want)
	}
}

// TestLargestShare: a product of two vectors is one drawer, and an identity has as many as rows.
func TestLargestShare(t *testing.T) {
	assert.InDelta(t, 1, largestShare([]float64{1, 2, 3, 2, 4, 6}, 2), 1e-12)
	assert.InDelta(t, 1./3, largestShare([]float64{1, 0, 0, 0, 1, 0, 0, 0, 1}, 3), 1e-12)
	assert.True(t, strings.HasPrefix((&drawerShares{Features: []float64{1}, Activations: []float64{1}, Random: []float64{1}}).Table().Title, "largest"))
}
