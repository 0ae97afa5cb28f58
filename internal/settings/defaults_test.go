package settings

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// numbers is a list that is written as a text with its entries.
type numbers []int

func (n *numbers) UnmarshalText(text []byte) error {
	count, err := strconv.Atoi(string(text))
	*n = make(numbers, count)
	return err
}

type filled struct {
	Steps int     `yaml:"steps" default:"5" min:"1" max:"9"`
	Seed  int     `yaml:"seed" default:"3"`
	Way   string  `yaml:"way" default:"up" choices:"up, down"`
	List  numbers `yaml:"list"`
	File  string  `yaml:"file" local:"true"`
}

// TestComplete: a field keeps zero if its bounds allow zero, otherwise it gets its default; all
// bounds are checked.
func TestComplete(t *testing.T) {
	v := filled{}
	require.NoError(t, Complete(&v))
	assert.Equal(t, filled{Steps: 5, Way: "up"}, v)
	v.Steps = 10
	assert.EqualError(t, Complete(&v), "steps: want <= 9, got 10")
	v.Steps, v.Way = 0, "left"
	assert.ErrorContains(t, Complete(&v), `way: want one of up, down, got "left"`)
	v = filled{}
	require.NoError(t, SetDefaults(&v))
	assert.Equal(t, filled{Steps: 5, Seed: 3, Way: "up"}, v)
}

// TestListsInJSON: a list that flags take as a text is an array in JSON, and keys that name files
// are refused.
func TestListsInJSON(t *testing.T) {
	v := filled{}
	require.NoError(t, DecodeJSON(strings.NewReader(`{"list": [4, 5]}`), &v))
	assert.Equal(t, numbers{4, 5}, v.List)
	assert.EqualError(t, DecodeJSON(strings.NewReader(`{"list": "2"}`), &v), "list: want an array, got a string")
	assert.EqualError(t, DecodeJSON(strings.NewReader(`{"file": "x"}`), &v), "file: cannot be set in JSON: it names files; use the command's flag")
	keys, err := Keys(nil, &v)
	require.NoError(t, err)
	assert.True(t, keys[len(keys)-1].Local)
	assert.Equal(t, "list of integers", keys[3].Type)
	flags, err := NewFlags(&v)
	require.NoError(t, err)
	require.NoError(t, flags[3].Set("2"))
	assert.Equal(t, numbers{0, 0}, v.List)
}
