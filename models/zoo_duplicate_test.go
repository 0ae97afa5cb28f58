package models_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// TestZooRefusesDuplicateNames: looking up a name that two designs or two presets share is an
// error; other names still work.
func TestZooRefusesDuplicateNames(t *testing.T) {
	zoo := models.Standard().With(stream.HighwayConfig{}, models.Preset{Name: "quickstart"}).WithKinds(layers.GELUConfig{})
	_, err := zoo.Stream(stream.HighwayConfig{}.Name())
	require.EqualError(t, err, `stream "highway": want one of that name in the zoo, got stream.HighwayConfig and stream.HighwayConfig: rename one`)
	_, err = models.Find("feed-forward", zoo.FeedForwards(), layers.GELUConfig{}.Name())
	require.ErrorContains(t, err, "want one of that name")
	_, err = zoo.Preset("quickstart")
	require.EqualError(t, err, `preset: want one called "quickstart" in the zoo, got 2: rename the others`)
	_, err = zoo.Stream(stream.VectorConfig{}.Name())
	require.NoError(t, err)
	_, err = zoo.Preset("rmt-46m")
	require.NoError(t, err)
}
