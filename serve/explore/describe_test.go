package explore

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/data"
)

// TestOpening: the page opens with the beginning of the first document, cut at a whole character.
func TestOpening(t *testing.T) {
	tokenizer, err := data.NewTokenizer("bytes")
	require.NoError(t, err)
	bos := []int32{tokenizer.BOS()}
	text := append(append(append(bos, bos...), tokenizer.Encode(nil, "func main")...), bos...)
	assert.Equal(t, "func main", opening(tokenizer, append(text, 65), 32))
	assert.Equal(t, "0123456789012345678901234567890", opening(tokenizer, tokenizer.Encode(nil, "0123456789012345678901234567890äb"), 32))
	assert.Empty(t, opening(tokenizer, bos, 32))
}
