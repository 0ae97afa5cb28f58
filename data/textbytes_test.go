package data

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTextBytesOfNormalizedText: tokens of a tokenizer that normalizes text, or whose added tokens
// take white space, count the bytes of the text as it was.
func TestTextBytesOfNormalizedText(t *testing.T) {
	dir := t.TempDir()
	var all []string
	for text := range nfcStrings(2000) {
		all = append(all, text, "  <mask>  x"+text, "\u0958")
	}
	path := addedTokenizer(t, "qwen", json.RawMessage(`{"id": 600, "content": "<mask>", "lstrip": true, "rstrip": true}`))
	bpe := newTokenizer(t, path).(*bpeTokenizer)
	for _, text := range all {
		ids, bytes := bpe.encodeText([]int32{0}, text)
		require.EqualValues(t, len(text), TextBytes(bpe, Tokens{narrow: converted[uint16](ids), text: bytes}), "%+q", text)
	}
	for i, text := range all {
		require.NoError(t, os.WriteFile(filepath.Join(dir, strings.Repeat("a", i%7)+string(rune('a'+i%26))+".txt"), []byte(text), 0o600))
	}
	c, err := Load(t.Context(), Options{Source: Files{}, Paths: []string{dir}, Tokenizer: path, Split: "tail/4"})
	require.NoError(t, err)
	want := int64(0)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		info, err := e.Info()
		require.NoError(t, err)
		want += info.Size()
	}
	require.Equal(t, want, c.Train.TextBytes+c.Val.TextBytes)
	sum, tokens := int64(0), c.Val.Tokens
	for i := range tokens.Len() {
		part := tokens.Slice(i, i+1)
		require.Equal(t, int64(len(bpe.Decode(part.IDs()))+tokens.MoreBytes(i)), TextBytes(bpe, part))
		sum += TextBytes(bpe, part)
	}
	require.Equal(t, c.Val.TextBytes, sum)
}

// TestTextBytesOfTokens: a change counts for the token in which it ends.
func TestTextBytesOfTokens(t *testing.T) {
	bpe := newTokenizer(t, filepath.Join(tokenizerFolder("qwen"), "tokenizer.json")).(*bpeTokenizer)
	ids, bytes := bpe.encodeText(nil, "ae\u0301\u0301 \u0958")
	require.Equal(t, "aé\u0301 \u0915\u093c", bpe.Decode(ids))
	total := 0
	for i, id := range ids {
		n := len(bpe.words[id]) + Tokens{narrow: converted[uint16](ids), text: bytes}.MoreBytes(i)
		require.GreaterOrEqual(t, n, 0)
		total += n
	}
	require.Equal(t, len("ae\u0301\u0301 \u0958"), total)
}
