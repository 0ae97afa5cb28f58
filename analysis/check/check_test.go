package check

import (
	"testing"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/assert"
)

// TestIs: an error matches what states nothing else than it does, wrapped or not.
func TestIs(t *testing.T) {
	err := errors.Wrap(Value("draws", "at least 2", 1), "wiring")
	for _, target := range []error{ValueError{}, ValueError{Name: "draws"}, ValueError{"draws", "at least 2", "1"}} {
		assert.ErrorIs(t, err, target)
	}
	for _, target := range []error{ValueError{Name: "draw"}, ValueError{Name: "draws", Got: "2"}, RangeError{"draws", 2, 1}, UnknownNameError{}} {
		assert.NotErrorIs(t, err, target)
	}
	unknown := Unknown("head", "haed", []string{"head", "tail"})
	assert.ErrorIs(t, unknown, UnknownNameError{Kind: "head", Nearest: "head"})
	assert.NotErrorIs(t, unknown, UnknownNameError{Nearest: "tail"})
	unsupported := UnsupportedError{"circuits", "heads", "matrix", []string{"lens"}}
	assert.ErrorIs(t, unsupported, UnsupportedError{Analysis: "circuits"})
	assert.NotErrorIs(t, unsupported, UnsupportedError{Analysis: "circuits", Stream: "vector"})
}

// TestBounds: the first and the last of what is allowed pass.
func TestBounds(t *testing.T) {
	assert.NoError(t, Index("layer", 0, 2))
	assert.NoError(t, Index("layer", 1, 2))
	assert.Equal(t, RangeError{"layer", 2, 2}, Index("layer", 2, 2))
	assert.Equal(t, RangeError{"layer", 2, -1}, Index("layer", -1, 2))
	assert.NoError(t, AtLeast("draws", 2, 2))
	assert.Equal(t, ValueError{"draws", "at least 2", "1"}, AtLeast("draws", 2, 1))
}

// TestUnknownNames: a name that none is near gets all of them.
func TestUnknownNames(t *testing.T) {
	assert.EqualError(t, Unknown("head", "haed", []string{"head", "tail"}), `no head "haed"; did you mean head?`)
	assert.EqualError(t, Unknown("head", "something", []string{"head", "tail"}), `no head "something"; want one of head, tail`)
}
