package runconfig

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/settings"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// damped is a design of another module: a vector stream with a setting of its own.
type damped struct {
	stream.VectorConfig
	Damping float64 `yaml:"damping" help:"what the stream is multiplied by"`
}

func (damped) Name() string { return "damped" }

func (c damped) Defaults() stream.Design {
	if c.Damping == 0 {
		c.Damping = 0.5
	}
	return c
}

// TestAnOutsidersDesignIsReadAsOursAre: a zoo with the design reads it, and no other zoo does.
func TestAnOutsidersDesignIsReadAsOursAre(t *testing.T) {
	const text = "model:\n  preset: quickstart-transformer\n  stream: {kind: damped, d_model: 64}\ntrain: {steps: 1, lr: 1e-3}"
	theirs := zoo.With(damped{})
	run, _, err := Parse(theirs, "x.yaml", []byte(text), nil)
	require.NoError(t, err)
	assert.Equal(t, damped{VectorConfig: stream.VectorConfig{Vectors: stream.Vectors{D: 64}}, Damping: 0.5}, run.Model.Stream)
	assert.Equal(t, theirs, run.Zoo())
	assert.Equal(t, run.Model, run.Spec().Config)
	saved, err := run.Text()
	require.NoError(t, err)
	again, _, err := Parse(theirs, "x.yaml", saved, nil)
	require.NoError(t, err, "%s", saved)
	assert.Equal(t, run, again)

	slower, _, err := Parse(theirs, "x.yaml", saved, []string{"model.stream.damping=0.25"})
	require.NoError(t, err)
	changes, err := Changes(run, slower)
	require.NoError(t, err)
	assert.Equal(t, []string{"model.stream.damping: 0.5 -> 0.25"}, changes)
	_, _, err = Parse(theirs, "x.yaml", []byte(text), []string{"model.stream.dampin=1"})
	requireAt(t, err, "-set", "model.stream.dampin")
	assert.ErrorContains(t, err, `"damping"`)
	_, _, err = Parse(theirs, "x.yaml", []byte(text), []string{"model.stream.damping=0"})
	requireAt(t, err, "-set", "model.stream.damping")

	keys, err := Keys(theirs)
	require.NoError(t, err)
	assert.Contains(t, keys, settings.Key{Name: "model.stream.damping", Type: "number", Default: "0.5", Help: "what the stream is multiplied by", Kinds: "damped"})
	_, _, err = Parse(models.Standard(), "x.yaml", []byte(text), nil)
	requireAt(t, err, "x.yaml:3", "model.stream.kind")
	assert.ErrorContains(t, err, strings.Join(zoo.StreamNames(), ", "))
}

// TestKeysOfASectionAreThoseOfItsKind checks this for presets, files and assignments, key by key.
func TestKeysOfASectionAreThoseOfItsKind(t *testing.T) {
	const text = "model:\n  preset: quickstart-hyper-dynamic\n  stream: {n: 2}\ntrain: {steps: 1, lr: 1e-3}"
	vectors := stream.Vectors{D: 256}
	for _, c := range []struct {
		sets []string
		want stream.Design
	}{
		{nil, stream.HyperConfig{Vectors: vectors, N: 2, Dynamic: true}},
		{[]string{"model.stream.n=3", "model.stream.dynamic=false"}, stream.HyperConfig{Vectors: vectors, N: 3}},
		{[]string{"model.stream={n: 3}"}, stream.HyperConfig{Vectors: vectors, N: 3, Dynamic: true}},
		{[]string{"model.stream={kind: hyper, n: 3}"}, stream.HyperConfig{Vectors: vectors, N: 3, Dynamic: true}},
		{[]string{"model.stream.kind=mhc", "model.stream.d_model=64"}, stream.MHCConfig{Vectors: stream.Vectors{D: 64}, N: 4, Iterations: 20, StartLogit: -8, StartAlpha: 0.01}},
		{[]string{"model.stream={kind: mhc, d_model: 64, n: 3}"}, stream.MHCConfig{Vectors: stream.Vectors{D: 64}, N: 3, Iterations: 20, StartLogit: -8, StartAlpha: 0.01}},
	} {
		run, _, err := Parse(zoo, "x.yaml", []byte(text), c.sets)
		require.NoError(t, err, c.sets)
		assert.Equal(t, c.want, run.Model.Stream, c.sets)
	}
	_, _, err := Parse(zoo, "x.yaml", []byte(text), []string{"model.stream.kind=mhc"})
	requireAt(t, err, "-set", "model.stream.d_model") // of the kind that lacks it
	_, _, err = Parse(zoo, "x.yaml", []byte(text), []string{"model.stream.kind=vector", "model.stream.n=3"})
	requireAt(t, err, "-set", "model.stream.n")
}
