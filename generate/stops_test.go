package generate

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
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
