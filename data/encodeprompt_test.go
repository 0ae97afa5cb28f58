package data

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEncodePrompt(t *testing.T) {
	own, no, yes := newTokenizer(t, "bytes"), false, true
	require.Equal(t, []int32{256, 'a'}, EncodePrompt(own, "a", nil))
	require.Equal(t, []int32{256, 'a'}, EncodePrompt(own, "a", &yes))
	require.Equal(t, []int32{'a'}, EncodePrompt(own, "a", &no))
	require.Empty(t, EncodePrompt(own, "", &no))
}
