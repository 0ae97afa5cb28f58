package models_test

import (
	"reflect"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

// matrixBase and vectorBase have every section that other bases need.
func matrixBase() models.Config {
	return tinyMatrix(func(c *models.Config) { c.MuP = &models.MuP{} })
}

func vectorBase() models.Config {
	return tinyVector(func(c *models.Config) { c.MuP = &models.MuP{} })
}

// withDocuments and withRope return bases in which a further setting matters.
func withDocuments() models.Config {
	c := matrixBase()
	c.MaskDocuments, c.BOS = true, 1
	return c
}

func withRope() models.Config {
	c := matrixBase()
	c.Attention.Positions = models.PositionsRoPE
	return c
}

// onField sets a field of a config's stream; inFeedForward sets one of its feed-forward.
func onField(name string, value any) func(c *subject) {
	return func(c *subject) { c.Stream = withField(c.Stream, name, value) }
}

func inFeedForward(name string, value any) func(c *subject) {
	return func(c *subject) { c.FeedForward = withField(c.FeedForward, name, value) }
}

// withField returns a copy of a design with another value of a field.
func withField[D any](design D, name string, value any) D {
	v := reflect.New(reflect.TypeOf(design)).Elem()
	v.Set(reflect.ValueOf(design))
	v.FieldByName(name).Set(reflect.ValueOf(value))
	return v.Interface().(D)
}

// slidingRope returns a base with rotary positions and windows.
func slidingRope(base float64) models.Config {
	c := withRope()
	c.Attention.Kind = layers.SlidingAttention{Window: 3, RopeBase: base}
	return c
}

// longRope returns a base with longrope, whose long factors are for rows of more tokens than seq.
func longRope(seq int) models.Config {
	c := withRope()
	c.Attention.RopeScaling = layers.RopeScaling{Type: layers.RopeLong, Factor: 2, OriginalSeq: seq, ShortFactors: []float64{1, 1, 1.5}, LongFactors: []float64{1, 3, 5}}
	return c
}
