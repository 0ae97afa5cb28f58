package data

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestIDs: ids may be separated by commas, spaces and line breaks, and are written with commas.
func TestIDs(t *testing.T) {
	var ids IDs
	require.NoError(t, ids.UnmarshalText([]byte(" 256, 97\n98,\t3 ")))
	assert.Equal(t, IDs{256, 97, 98, 3}, ids)
	assert.Equal(t, "256,97,98,3", FormatIDs(ids))
	for text, want := range map[string]string{
		"":     "want whole numbers such as 1,2,3, got none",
		"1,x":  `want whole numbers such as 1,2,3, got "x"`,
		"1,,2": `want whole numbers such as 1,2,3, got ""`,
		"1,-2": "token 1: want an id of 0 to 2147483646, got -2",
	} {
		assert.EqualError(t, ids.UnmarshalText([]byte(text)), want, text)
	}
	assert.Equal(t, IDs{256, 97, 98, 3}, ids, "a refused text changes nothing")
	_, err := ParseIDs("1,5", 5)
	assert.EqualError(t, err, "token 1: want an id of 0 to 4, got 5")
}
