package data

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTokenizersThatPeopleHave: tokenizers with the settings of Llama 2, Mistral, Gemma, o200k and
// GPT-NeoX give the ids of Hugging Face's tokenizers (0.23.3), and the texts that these decode to;
// the tokens stand for all bytes of the text.
func TestTokenizersThatPeopleHave(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join("..", "testdata", "tokenizers", "*", "expected.json"))
	require.NoError(t, err)
	require.Len(t, folders, 6)
	for _, path := range folders {
		name := filepath.Base(filepath.Dir(path))
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		var cases [][]any
		require.NoError(t, json.Unmarshal(text, &cases))
		require.Len(t, cases, 300, name)
		tokenizer := newTokenizer(t, filepath.Join(filepath.Dir(path), "tokenizer.json")).(*bpeTokenizer)
		spelt := 0
		for _, c := range cases {
			text, want := c[0].(string), idsOf(c[1])
			got, bytes := tokenizer.encodeText([]int32{}, text)
			require.Equal(t, want, got, "%s: %q", name, text)
			assert.Equal(t, c[2], DecodeText(tokenizer, got), "%s: %q", name, text)
			length := int(bytes.total())
			for _, id := range got {
				length += len(tokenizer.words[id])
			}
			assert.Len(t, text, length, "%s: bytes of %q", name, text)
			if len(c) > 3 { // it spells a special token
				special := ReadingSpecial(tokenizer).Encode([]int32{}, text)
				require.Equal(t, idsOf(c[3]), special, "%s: %q", name, text)
				if !slices.Equal(want, special) {
					spelt++
				}
			}
		}
		require.Positive(t, spelt, name)
	}
}

// idsOf converts ids of a JSON file.
func idsOf(list any) []int32 {
	ids := []int32{}
	for _, id := range list.([]any) {
		ids = append(ids, int32(id.(float64)))
	}
	return ids
}

// TestReadingSpecial: the names of our own tokenizers' BOS are BOS if that is wanted, and text
// otherwise.
func TestReadingSpecial(t *testing.T) {
	for _, name := range TokenizerNames() {
		own := newTokenizer(t, name)
		a, b := own.Encode(nil, "a"), own.Encode(nil, "b")
		require.Equal(t, slices.Concat(a, []int32{own.BOS()}, b, []int32{own.BOS()}), ReadingSpecial(own).Encode(nil, "a"+endOfText+"b"+endOfText))
		require.NotContains(t, own.Encode(nil, "a"+endOfText), own.BOS())
		require.Equal(t, own.Name(), ReadingSpecial(own).Name())
	}
	numbers := MQAR{}.Tokenizer()
	require.Equal(t, numbers, ReadingSpecial(numbers))
}

// TestCharactersKeepBytes: bytes that are not UTF-8 become tokens for bytes, and come back.
func TestCharactersKeepBytes(t *testing.T) {
	tokenizer := newTokenizer(t, filepath.Join("..", "testdata", "tokenizers", "llama", "tokenizer.json"))
	const text = "a \xff\x80 \xe2\x82"
	assert.Equal(t, text, DecodeText(tokenizer, tokenizer.Encode(nil, text)))
	assert.True(t, AddsBOS(tokenizer))
}
