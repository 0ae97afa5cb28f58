package generate

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/data"
)

// beforeStop returns the text before the first stop string to be complete, which it finds by
// reading character after character. It is an independent form of what stops does.
func beforeStop(text string, stops []string) (string, bool) {
	for end := range len(text) + 1 {
		longest := -1
		for _, stop := range stops {
			if strings.HasSuffix(text[:end], stop) {
				longest = max(longest, len(stop))
			}
		}
		if longest >= 0 {
			return text[:end-longest], true
		}
	}
	return text, false
}

// TestStopStringsAcrossPieces splits texts at random: wherever pieces end, the text ends before the
// stop string, and no part of a stop string has been returned earlier.
func TestStopStringsAcrossPieces(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	word := func(n int) string {
		letters := make([]byte, n)
		for i := range letters {
			letters[i] = "ab"[random.IntN(2)]
		}
		return string(letters)
	}
	found := 0
	for range 5000 {
		text := word(random.IntN(14))
		strs := make([]string, random.IntN(4))
		for i := range strs {
			strs[i] = word(1 + random.IntN(6))
		}
		want, stops := beforeStop(text, strs)
		got, stopped := inPieces(text, strs, random)
		assert.Equal(t, want, got, "%q at %q", text, strs)
		assert.Equal(t, stops, stopped)
		if stopped {
			found++
		}
	}
	assert.Greater(t, found, 1000)
}

func inPieces(text string, strs []string, random *rand.Rand) (string, bool) {
	s := stops{strings: strs}
	var got strings.Builder
	for text != "" {
		n := 1 + random.IntN(len(text))
		certain, found := s.next(text[:n])
		got.WriteString(certain)
		if found {
			return got.String(), true
		}
		text = text[n:]
	}
	got.WriteString(s.flush())
	return got.String(), false
}

// TestNoPrefixOfAStopStringIsHandedOut: a piece that may become a stop string waits, and
// one that cannot does not.
func TestNoPrefixOfAStopStringIsHandedOut(t *testing.T) {
	s := stops{strings: []string{"\n}\n"}}
	for _, c := range []struct{ piece, want string }{{"x", "x"}, {"\n", ""}, {"}", ""}, {"y", "\n}y"}, {"z\n\n", "z\n"}, {"}", ""}} {
		got, found := s.next(c.piece)
		assert.Equal(t, c.want, got)
		assert.False(t, found)
	}
	got, found := s.next("\nmore")
	assert.Empty(t, got)
	assert.True(t, found)
}

// TestTokensOfTextAfterCutCharacters: a stop string after bytes that begin no character has its
// tokens in the last piece, too.
func TestTokensOfTextAfterCutCharacters(t *testing.T) {
	tokenizer, err := data.NewTokenizer("bytes")
	require.NoError(t, err)
	for _, cut := range []string{"\xc3", "a\xe2\x80", "\xff", "\xf0\x9f\x98\xc3"} {
		g := Generator{tokenizer: tokenizer}
		var pieces []Piece
		text := g.text(Request{Stop: []string{"é"}}, func(p Piece) { pieces = append(pieces, p) })
		for _, b := range []byte(cut + "é") {
			text.add(newToken(int32(b), nil, tokenizer, 0))
		}
		require.True(t, text.stopped)
		require.Equal(t, StopString, text.finish(StopTokens))
		spelled, tokens := "", 0
		for _, p := range pieces[:len(pieces)-1] {
			spelled, tokens = spelled+p.Text, tokens+len(p.Tokens)
		}
		assert.Equal(t, string([]rune(cut)), spelled)
		assert.Equal(t, len(cut), tokens, "%q", cut)
		assert.Equal(t, Piece{Tokens: []Token{{ID: 0xc3, Text: "\xc3"}, {ID: 0xa9, Text: "\xa9"}}}, pieces[len(pieces)-1])
	}
}

// TestTokensOfTextBeforeStopStrings: the tokens of pieces with text join to the text, wherever stop
// strings begin, one may be held back while another completes, and the last piece has the tokens of
// the stop string.
func TestTokensOfTextBeforeStopStrings(t *testing.T) {
	tokenizer, err := data.NewTokenizer("bytes")
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(2, 1))
	word := func(n int) string {
		letters := ""
		for range n {
			letters += [...]string{"a", "b", "é"}[random.IntN(3)]
		}
		return letters
	}
	stopped := 0
	for i := range 5000 {
		r := Request{Stop: []string{word(1 + random.IntN(4)), word(1 + random.IntN(4))}}
		generated := word(random.IntN(12))
		if i == 0 {
			r.Stop, generated = []string{"\n\tX", "\tr"}, "a\n\treturn"
		}
		var withText, all string
		g := Generator{tokenizer: tokenizer}
		text := g.text(r, func(p Piece) {
			spelled := ""
			for _, token := range p.Tokens {
				spelled += token.Text
			}
			if all += spelled; p.Text != "" {
				withText += spelled
			}
		})
		text.prompt(tokenizer.Encode(nil, "é"), nil, false)
		for _, id := range tokenizer.Encode(nil, generated) {
			if text.add(newToken(id, nil, tokenizer, 0)); text.stopped {
				break
			}
		}
		want, stops := beforeStop(generated, r.Stop)
		require.Equal(t, stops, text.finish(StopTokens) == StopString)
		if stops {
			stopped++
		}
		assert.True(t, strings.HasPrefix(generated, all))
		assert.Equal(t, want, withText, "%q at %q", generated, r.Stop)
	}
	assert.Greater(t, stopped, 1000)
}
