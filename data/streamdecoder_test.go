package data

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStreamDecoderHoldsBackCharacters(t *testing.T) {
	d := NewStreamDecoder(newTokenizer(t, "bytes"))
	var got []string
	for _, id := range []int32{'a', 0xf0, 0x9f, 0x99, 256, 0x82, 'b'} {
		got = append(got, d.Next(id))
	}
	assert.Equal(t, []string{"a", "", "", "", "", "🙂", "b"}, got)
	assert.Empty(t, d.Flush())
}

func TestStreamDecoderHoldsBackGPT2(t *testing.T) {
	tokenizer := newTokenizer(t, "gpt2")
	ids := tokenizer.Encode(nil, "日🙂")
	require.Greater(t, len(ids), 2, "the case wants characters of several tokens")
	d := NewStreamDecoder(tokenizer)
	var text string
	for _, id := range ids {
		text += d.Next(id)
		assert.True(t, utf8.ValidString(text))
		assert.NotContains(t, text, "\ufffd")
	}
	assert.Equal(t, "日🙂", text)
}

func TestStreamDecoderReplacesInvalidBytes(t *testing.T) {
	d := NewStreamDecoder(newTokenizer(t, "bytes"))
	assert.Equal(t, "\ufffd", d.Next(0xff), "can't begin a character")
	assert.Empty(t, d.Next(0xe2))
	assert.Equal(t, "\ufffdx", d.Next('x'), "the character can't be completed")
	assert.Empty(t, d.Next(0xe2))
	assert.Empty(t, d.Next(0x82))
	assert.Equal(t, "\ufffd\ufffd", d.Flush(), "the text ends inside a character")
	assert.Empty(t, d.Flush())
	assert.Equal(t, "a", d.Next('a'))
}

func TestStreamDecoderEqualsDecode(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, name := range TokenizerNames() {
		tokenizer := newTokenizer(t, name)
		for range 500 {
			ids := tokenizer.Encode(nil, randomText(r, 10))
			for range r.IntN(20) {
				ids = append(ids, int32(r.IntN(tokenizer.Vocab())))
			}
			d := NewStreamDecoder(tokenizer)
			var text strings.Builder
			for _, id := range ids {
				text.WriteString(d.Next(id))
				require.True(t, utf8.ValidString(text.String()))
			}
			text.WriteString(d.Flush())
			require.Equal(t, string([]rune(tokenizer.Decode(ids))), text.String(), name)
		}
	}
}
