package pretrained_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/pretrained"
)

// check is a condition on an error.
type check func(*testing.T, error)

// is requires an error that is, or wraps, the target.
func is(target error) check {
	return func(t *testing.T, err error) { require.ErrorIs(t, err, target) }
}

// tensorNamed requires an error about the tensor of that name.
func tensorNamed(name string) check {
	return func(t *testing.T, err error) {
		var bad *pretrained.TensorError
		require.ErrorAs(t, err, &bad)
		require.Equal(t, name, bad.Name)
	}
}

// setting requires an error about the setting of that name.
func setting(key string) check {
	return func(t *testing.T, err error) {
		var bad *layers.SettingError
		require.ErrorAs(t, err, &bad)
		require.Equal(t, key, bad.Key)
	}
}

// vocabulary requires an error about a tokenizer with ids token ids for a model with model ids.
func vocabulary(ids, model int) check {
	return func(t *testing.T, err error) {
		var bad *data.VocabularyError
		require.ErrorAs(t, err, &bad)
		require.Equal(t, [2]int{ids, model}, [2]int{bad.IDs, bad.Model})
	}
}

// says requires an error with that text, for errors without a type.
func says(text string) check {
	return func(t *testing.T, err error) { require.ErrorContains(t, err, text) }
}
