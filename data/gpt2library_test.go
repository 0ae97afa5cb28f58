//go:build tiktoken

package data

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"github.com/tiktoken-go/tokenizer/codec"
)

// libraryEncode encodes with the library that embeds the vocabulary, with its own pattern and
// merges.
func libraryEncode(t testing.TB, library *codec.Codec, text string) []int32 {
	t.Helper()
	ids, _, err := library.Encode(text)
	require.NoError(t, err)
	out := make([]int32, len(ids))
	for i, id := range ids {
		out[i] = int32(id)
	}
	return out
}

// requireSameAsLibrary compares ids with the library's. U+007F is changed to
// another character first: the library loses it (tokenizer v0.10.0 with
// regexp2 v2.5.1 encodes it to nothing), which the reference shows to be wrong.
func requireSameAsLibrary(t testing.TB, tokenizer Tokenizer, library *codec.Codec, text string) {
	t.Helper()
	text = strings.ReplaceAll(text, "\x7f", "~")
	want, got := libraryEncode(t, library, text), tokenizer.Encode(nil, text)
	for i := range max(len(want), len(got)) {
		if i >= len(want) || i >= len(got) || want[i] != got[i] {
			require.Failf(t, "ids differ", "from id %d on, text %.60q: want %d, got %d", i,
				text[len(tokenizer.Decode(got[:min(i, len(got))])):], want[min(i, len(want)):min(i+8, len(want))], got[min(i, len(got)):min(i+8, len(got))])
		}
	}
}

func TestGPT2EqualsLibraryOnRandomText(t *testing.T) {
	tokenizer, library := newTokenizer(t, "gpt2"), codec.NewR50kBase()
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		requireSameAsLibrary(t, tokenizer, library, randomText(r, 40))
	}
}

// Every character of the planes that have any (and some of the others) is put between two letters,
// so that its class shows.
func TestGPT2EqualsLibraryOnEveryCharacter(t *testing.T) {
	tokenizer, library := newTokenizer(t, "gpt2"), codec.NewR50kBase()
	var text strings.Builder
	for r := rune(0); r <= utf8.MaxRune; r++ {
		assigned := r < 0x40000 || r >= 0xe0000 && r < 0xe1000
		if !utf8.ValidRune(r) || !assigned && r%101 != 0 {
			continue
		}
		text.WriteByte('x')
		text.WriteRune(r)
		if text.Len() >= 1<<14 {
			requireSameAsLibrary(t, tokenizer, library, text.String())
			text.Reset()
		}
	}
	requireSameAsLibrary(t, tokenizer, library, text.String())
}

func TestGPT2EqualsLibraryOnGoSource(t *testing.T) {
	root := gorootOrSkip(t)
	tokenizer, library := newTokenizer(t, "gpt2"), codec.NewR50kBase()
	for _, folder := range []string{"fmt", "strconv", "unicode/utf8", "text/template", "go/printer"} {
		paths, err := filepath.Glob(filepath.Join(root, "src", filepath.FromSlash(folder), "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, paths)
		for _, path := range paths {
			source, err := os.ReadFile(path)
			require.NoError(t, err)
			requireSameAsLibrary(t, tokenizer, library, string(source))
		}
	}
}

// Pieces too long for the cache and for a quadratic merge.
func TestGPT2EqualsLibraryOnLongPieces(t *testing.T) {
	tokenizer, library := newTokenizer(t, "gpt2"), codec.NewR50kBase()
	r := rand.New(rand.NewPCG(3, 4))
	letters := make([]byte, 20_000)
	for i := range letters {
		letters[i] = "abcdefghijklmnopqrstuvwxyzeeeettttaaaaooo"[r.IntN(41)]
	}
	for _, text := range []string{
		strings.Repeat("a", 20_001), strings.Repeat("-=", 5000), strings.Repeat(" ", 3001) + "x",
		strings.Repeat("\n\t", 1000), string(letters), strings.Repeat("7", 999), strings.Repeat("語", 500),
	} {
		requireSameAsLibrary(t, tokenizer, library, text)
	}
}

func FuzzGPT2EqualsLibrary(f *testing.F) {
	tokenizer, library := newTokenizer(f, "gpt2"), codec.NewR50kBase()
	for _, seed := range []string{"", " ", "it's  we'll\n\n x", "''s 3.14\u00a0\u00a0y", "\t\r\n \u2003z"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if utf8.ValidString(text) {
			requireSameAsLibrary(t, tokenizer, library, text)
		}
		require.Equal(t, text, tokenizer.Decode(tokenizer.Encode(nil, text)))
	})
}
