package models_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/designrows"
	"github.com/residua-go/residua/internal/settings"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// TestDesignsHaveKeys: each field of a design has a key of its own and help, and the design holds
// Common, which a model fills in.
func TestDesignsHaveKeys(t *testing.T) {
	for _, d := range models.Standard().Streams() {
		assert.NotZero(t, checkKeys(t, d), d.Name())
		assert.Implements(t, (*interface{ SetCommon(stream.Common) })(nil), reflect.New(reflect.TypeOf(d)).Interface(), d.Name())
	}
	for _, d := range models.Standard().FeedForwards() {
		assert.Equal(t, d.Shape().None, checkKeys(t, d) == 0, d.Name())
	}
}

// checkKeys counts the settings of a design.
func checkKeys(t *testing.T, d namedDesign) int {
	keys := map[string]bool{"kind": true} // a section's own
	for _, f := range reflect.VisibleFields(reflect.TypeOf(d)) {
		if key := f.Tag.Get("yaml"); key != "" {
			assert.False(t, keys[key], "%s: %s twice", d.Name(), key)
			help := f.Tag.Get("help")
			if owner, ok := reflect.ValueOf(d).FieldByIndex(f.Index[:len(f.Index)-1]).Interface().(settings.Helper); ok && help == "" {
				help = owner.Help()[key]
			}
			assert.NotEmpty(t, help, "%s: help of %s", d.Name(), key)
			keys[key] = true
		}
	}
	return len(keys) - 1
}

// TestEachDesignHasItsNameAndAPreset: no two designs share a name, and each is used by a preset.
func TestEachDesignHasItsNameAndAPreset(t *testing.T) {
	zoo := models.Standard()
	streams, feedForwards := map[string]bool{}, map[string]bool{}
	for _, p := range zoo.Presets() {
		c := modeltest.Resolve(t, p.Config)
		streams[c.Stream.Name()] = true
		assert.Equal(t, c.Stream.Name(), c.Design().Name(), p.Name)
		if c.FeedForward != nil {
			feedForwards[c.FeedForward.Name()] = true
		}
	}
	assert.Len(t, streams, len(zoo.Streams()))
	assert.Len(t, feedForwards, len(zoo.FeedForwards()))
	for _, name := range zoo.StreamNames() {
		assert.True(t, streams[name], "%s: want a preset", name)
		d, err := zoo.Stream(name)
		require.NoError(t, err)
		assert.True(t, reflect.ValueOf(d).IsZero(), "%s: without settings", name)
		assert.Equal(t, name, d.Name())
	}
	_, err := zoo.Stream("tensor")
	assert.EqualError(t, err, `unknown stream "tensor": want one of `+strings.Join(zoo.StreamNames(), ", "))
	_, err = models.Find("feed-forward", zoo.FeedForwards(), "relu6")
	assert.EqualError(t, err, `unknown feed-forward "relu6": want one of gelu, swiglu, relu, relu2, moe, none`)
}

// broad is a vector stream under another name, as another module may add it.
type broad struct{ stream.VectorConfig }

func (broad) Name() string                         { return "broad" }
func (w broad) Defaults() stream.Design            { return w }
func (w broad) Shape() stream.Shape                { return w.VectorConfig.Shape() }
func (w broad) Ratios(stream.Design) stream.Ratios { return stream.Unscaled(w.Shape().HeadDim) }

// narrow is a GELU under another name.
type narrow struct{ layers.GELUConfig }

func (narrow) Name() string                         { return "narrow" }
func (n narrow) Defaults() layers.FeedForwardDesign { return n }

// TestZooWith: a zoo extended by With has the new designs; the zoo that it was made from, and
// another made from that, do not.
func TestZooWith(t *testing.T) {
	base := models.Standard()
	preset := models.Preset{Name: "wide-1", Config: tinyVector(func(c *models.Config) {
		c.Stream, c.FeedForward = broad{vectorOf(15)}, narrow{gelu(4)}
	})}
	zoo := base.With(broad{}, preset).WithKinds(narrow{})
	other := base.With(settled{})
	assert.Equal(t, append(base.StreamNames(), "broad"), zoo.StreamNames())
	assert.Equal(t, append(base.StreamNames(), "settled"), other.StreamNames())
	assert.Equal(t, models.Standard().Streams(), base.Streams())
	_, err := base.Preset("wide-1")
	assert.Error(t, err)
	found, err := zoo.Preset("wide-1")
	require.NoError(t, err)
	assert.Equal(t, preset, found)
	_, err = models.Find("feed-forward", base.FeedForwards(), "narrow")
	assert.Error(t, err)
	ff, err := models.Find("feed-forward", zoo.FeedForwards(), "narrow")
	require.NoError(t, err)
	assert.Equal(t, narrow{}, ff)

	zoo.Streams()[0], zoo.Presets()[0] = nil, models.Preset{}
	assert.NotNil(t, zoo.Streams()[0], "what a zoo returns is the caller's")
	assert.NotEmpty(t, zoo.Presets()[0].Name)
	modeltest.Run(t, "another design", preset.Config)
}

// TestOnStream: settings of the new stream stay; those that it leaves open are taken from the old
// stream if it has them; everything outside the stream stays. For streams that start as a
// transformer, the plain transformer is the one that they came from.
func TestOnStream(t *testing.T) {
	starts := designrows.Read[bool](t, "starts_as_transformer")
	for _, base := range zooBases(t) {
		d, can := modeltest.Resolve(t, base).Design().(stream.PlainAtInit)
		var plain stream.Design
		if can {
			plain, can = d.Plain()
		}
		require.Equal(t, starts[base.Stream.Name()], can, "starts_as_transformer in testdata/designs/%s.yaml", base.Stream.Name())
		if can {
			assert.Equal(t, modeltest.Resolve(t, tinyVector(plainly)).Design(), plain, d.Name())
			assert.Equal(t, tinyVector(plainly), base.OnStream(stream.VectorConfig{}), d.Name())
		}
	}
	rms := modeltest.Resolve(t, tinyZoo(stream.VWNConfig{M: 3, N: 6}, func(c *models.Config) { c.Norm = models.NormRMS }))
	_, ok := rms.Design().(stream.PlainAtInit).Plain()
	assert.False(t, ok, "the groups' LayerNorm is not undone")

	hyper := tinyZoo(stream.HyperConfig{N: 3, Dynamic: true}, biased)
	mhc := hyper.OnStream(stream.MHCConfig{Iterations: 5})
	assert.Equal(t, stream.MHCConfig{Vectors: width(15), N: 3, Iterations: 5}, mhc.Stream)
	assert.Equal(t, stream.MHCConfig{Vectors: width(20), N: 2}, hyper.OnStream(stream.MHCConfig{Vectors: width(20), N: 2}).Stream)
	mhc.Stream = hyper.Stream
	assert.Equal(t, hyper, mhc, "the rest")
	assert.Equal(t, stream.MatrixConfig{Dk: 2}, hyper.OnStream(stream.MatrixConfig{Dk: 2}).Stream, "nothing in common")
	assert.Nil(t, hyper.OnStream(stream.DWLSTMConfig{}).FeedForward)
}

// TestDesignsThatAreNoStructs: a config with a design that is no struct, or without a design, never
// panics.
func TestDesignsThatAreNoStructs(t *testing.T) {
	for _, d := range []stream.Design{nil, &stream.MatrixConfig{Dk: 4, Dv: 4, Rank: 2}, (*stream.MatrixConfig)(nil)} {
		for _, c := range []models.Config{{Stream: d}, tinyMatrix(plainly).OnStream(d), models.Config{Stream: d}.OnStream(vectorOf(8))} {
			_, err := c.Resolve()
			assert.Error(t, err)
			_, err = c.WithSize("stream.dk", 8)
			assert.Error(t, err)
		}
		_, err := json.Marshal(models.Config{Stream: d})
		assert.Equal(t, d == nil, err == nil, "%T", d)
	}
}
