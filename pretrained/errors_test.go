package pretrained_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/pretrained"
)

// check is what must hold of an error.
type check func(*testing.T, error)

// is wants an error that is, or wraps, another.
func is(target error) check {
	return func(t *testing.T, err error) { require.ErrorIs(t, err, target) }
}

// tensorNamed wants an error of the tensor of that name.
func tensorNamed(name string) check {
	return func(t *testing.T, err error) {
		var bad *pretrained.TensorError
		require.ErrorAs(t, err, &bad)
		require.Equal(t, name, bad.Name)
	}
}

// setting wants an error of the setting of that name.
func setting(key string) check {
	return func(t *testing.T, err error) {
		var bad *layers.SettingError
		require.ErrorAs(t, err, &bad)
		require.Equal(t, key, bad.Key)
	}
}

// vocabulary wants an error of a tokenizer with so many ids for a model with so many.
func vocabulary(ids, model int) check {
	return func(t *testing.T, err error) {
		var bad *data.VocabularyError
		require.ErrorAs(t, err, &bad)
		require.Equal(t, [2]int{ids, model}, [2]int{bad.IDs, bad.Model})
	}
}

// says wants an error with that text, where its package has no type for it.
func says(text string) check {
	return func(t *testing.T, err error) { require.ErrorContains(t, err, text) }
}
