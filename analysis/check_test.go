package analysis_test

import (
	"testing"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/assert"

	"github.com/residua-go/residua/models/check"
)

// TestCheckIs: an error matches what states nothing else than it does, wrapped or not.
func TestCheckIs(t *testing.T) {
	err := errors.Wrap(check.Value("draws", "at least 2", 1), "wiring")
	for _, target := range []error{check.ValueError{}, check.ValueError{Name: "draws"}, check.ValueError{Name: "draws", Want: "at least 2", Got: "1"}} {
		assert.ErrorIs(t, err, target)
	}
	for _, target := range []error{
		check.ValueError{Name: "draw"}, check.ValueError{Name: "draws", Got: "2"}, check.RangeError{Name: "draws", N: 2, Got: 1}, check.UnknownNameError{},
	} {
		assert.NotErrorIs(t, err, target)
	}
	unknown := check.Unknown("head", "haed", []string{"head", "tail"})
	assert.ErrorIs(t, unknown, check.UnknownNameError{Kind: "head", Nearest: "head"})
	assert.NotErrorIs(t, unknown, check.UnknownNameError{Nearest: "tail"})
	unsupported := check.UnsupportedError{Analysis: "circuits", Want: "heads", Stream: "matrix", Has: []string{"lens"}}
	assert.ErrorIs(t, unsupported, check.UnsupportedError{Analysis: "circuits"})
	assert.NotErrorIs(t, unsupported, check.UnsupportedError{Analysis: "circuits", Stream: "vector"})
}

// TestCheckBounds: the first and the last of what is allowed pass.
func TestCheckBounds(t *testing.T) {
	assert.NoError(t, check.Index("layer", 0, 2))
	assert.NoError(t, check.Index("layer", 1, 2))
	assert.Equal(t, check.RangeError{Name: "layer", N: 2, Got: 2}, check.Index("layer", 2, 2))
	assert.Equal(t, check.RangeError{Name: "layer", N: 2, Got: -1}, check.Index("layer", -1, 2))
	assert.NoError(t, check.AtLeast("draws", 2, 2))
	assert.Equal(t, check.ValueError{Name: "draws", Want: "at least 2", Got: "1"}, check.AtLeast("draws", 2, 1))
}

// TestCheckUnknownNames: a name that none is near gets all of them.
func TestCheckUnknownNames(t *testing.T) {
	assert.EqualError(t, check.Unknown("head", "haed", []string{"head", "tail"}), `no head "haed"; did you mean head?`)
	assert.EqualError(t, check.Unknown("head", "something", []string{"head", "tail"}), `no head "something"; want one of head, tail`)
}
