package data

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newTokenizer returns a known tokenizer.
func newTokenizer(t testing.TB, name string) Tokenizer {
	t.Helper()
	tokenizer, err := NewTokenizer(name)
	require.NoError(t, err)
	return tokenizer
}

// TestGPT2Vocabulary: the embedded tokens, written as r50k_base.tiktoken has them, have that file's
// digest, which OpenAI's tiktoken checks (openai_public.py).
func TestGPT2Vocabulary(t *testing.T) {
	words, err := gpt2Words()
	require.NoError(t, err)
	file := sha256.New()
	for i, word := range words {
		fmt.Fprintln(file, base64.StdEncoding.EncodeToString([]byte(word)), i)
	}
	require.Equal(t, "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930", hex.EncodeToString(file.Sum(nil)))
}

func TestTokenizerConstants(t *testing.T) {
	for _, want := range []struct {
		name  string
		vocab int
		bos   int32
	}{{"bytes", 257, 256}, {"gpt2", 50257, 50256}} {
		tokenizer := newTokenizer(t, want.name)
		assert.Equal(t, want.name, tokenizer.Name())
		assert.Equal(t, want.vocab, tokenizer.Vocab())
		assert.Equal(t, want.bos, tokenizer.BOS())
	}
	assert.Equal(t, []string{"bytes", "gpt2"}, TokenizerNames())
}

func TestUnknownTokenizer(t *testing.T) {
	_, err := NewTokenizer("gpt3")
	assert.EqualError(t, err, `data.tokenizer: want one of bytes, gpt2 or the path of a tokenizer.json, got "gpt3"`)
}

func TestEncodeBytes(t *testing.T) {
	tokenizer := newTokenizer(t, "bytes")
	assert.Equal(t, []int32{7, 'a', 0xc3, 0xa9, 0xff, 0}, tokenizer.Encode([]int32{7}, "aé\xff\x00"))
	assert.Equal(t, "aé", tokenizer.Decode([]int32{256, 'a', 0xc3, 256, 0xa9}))
	assert.Equal(t, "a\ufffd\ufffdb", tokenizer.Decode([]int32{'a', 257, -1, 'b'}))
}

func TestSpecialTokenIsPlainText(t *testing.T) {
	tokenizer := newTokenizer(t, "gpt2")
	ids := tokenizer.Encode(nil, "a<|endoftext|>b")
	assert.NotContains(t, ids, tokenizer.BOS())
	assert.Equal(t, "a<|endoftext|>b", tokenizer.Decode(ids))
	assert.Equal(t, "ab", tokenizer.Decode([]int32{64, 50256, 65}))
	assert.Equal(t, "a\ufffd\ufffdb", tokenizer.Decode([]int32{64, 50257, -1, 65}))
}

func TestEncodeAppends(t *testing.T) {
	for _, name := range TokenizerNames() {
		tokenizer := newTokenizer(t, name)
		whole := tokenizer.Encode([]int32{1, 2}, "some text")
		assert.Equal(t, []int32{1, 2}, whole[:2], name)
		assert.Equal(t, tokenizer.Encode(nil, "some text"), whole[2:], name)
		assert.Empty(t, tokenizer.Encode(nil, ""), name)
	}
}

// randomText returns up to n characters of every kind that the pieces tell
// apart, with runs of one kind and contractions being likely.
func randomText(r *rand.Rand, n int) string {
	kinds := []func() rune{
		func() rune { return ' ' },
		func() rune { return []rune("\t\n\r\v\f\u0085\u00a0\u1680\u2003\u2028\u202f\u3000")[r.IntN(12)] },
		func() rune { return 'a' + rune(r.IntN(26)) },
		func() rune { return []rune("AZéßдяעबे中文あ가ﬁ")[r.IntN(14)] },
		func() rune { return []rune("0123456789²½ⅷ٣〇")[r.IntN(15)] },
		func() rune { return []rune("'\"!.,;(){}<>|=-_#@`~\u200d\ufeff\u0301€")[r.IntN(24)] },
		func() rune { return []rune("🙂🚀👩\U0001F468")[r.IntN(4)] },
		func() rune { return rune(r.IntN(0xd800)) },
		func() rune { return rune(0xe000 + r.IntN(utf8.MaxRune+1-0xe000)) },
	}
	var text strings.Builder
	for range r.IntN(n) {
		if r.IntN(8) == 0 {
			text.WriteString([]string{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'r", "''s"}[r.IntN(10)])
		}
		kind := kinds[r.IntN(len(kinds))]
		for range 1 + r.IntN(4) {
			text.WriteRune(kind())
		}
	}
	return text.String()
}

// gorootOrSkip returns the root of the Go installation of this machine.
func gorootOrSkip(t testing.TB) string {
	t.Helper()
	root, err := findGoroot(t.Context(), nil)
	if err != nil {
		t.Skipf("wants the sources of the Go standard library: %v", err)
	}
	return root
}

func TestRoundTripOfAnyBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, name := range TokenizerNames() {
		tokenizer := newTokenizer(t, name)
		for range 2000 {
			text := make([]byte, r.IntN(60))
			for i := range text {
				text[i] = byte(r.Uint32())
			}
			require.Equal(t, string(text), tokenizer.Decode(tokenizer.Encode(nil, string(text))), name)
		}
	}
}

// Goroutines share the cache; ids don't depend on what it holds.
func TestGPT2Concurrent(t *testing.T) {
	shared := newTokenizer(t, "gpt2")
	alone, err := newGPT2Tokenizer()
	require.NoError(t, err)
	var texts []string
	var want [][]int32
	r := rand.New(rand.NewPCG(7, 8))
	for range 50 {
		texts = append(texts, randomText(r, 40))
		want = append(want, alone.Encode([]int32{}, texts[len(texts)-1]))
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i, text := range texts {
				assert.Equal(t, want[i], shared.Encode([]int32{}, text))
			}
		})
	}
	group.Wait()
}

func TestTextBytes(t *testing.T) {
	for _, name := range TokenizerNames() {
		tokenizer := newTokenizer(t, name)
		enc := &Encoder{tokenizer: tokenizer}
		text := "naïve 🙂 func main() {\n\t\n}\n"
		d := enc.Document("a", text)
		require.NoError(t, enc.encode(&d))
		tokens := concat(d.Tokens, d.Tokens, narrow(65535))
		assert.EqualValues(t, 2*len(text), TextBytes(tokenizer, tokens), name)
	}
}

func BenchmarkEncode(b *testing.B) {
	source, err := os.ReadFile(filepath.Join(gorootOrSkip(b), "src", "net", "http", "server.go"))
	require.NoError(b, err)
	for _, name := range TokenizerNames() {
		b.Run(name, func(b *testing.B) {
			tokenizer := newTokenizer(b, name)
			ids := tokenizer.Encode(nil, string(source))
			b.SetBytes(int64(len(source)))
			for b.Loop() {
				ids = tokenizer.Encode(ids[:0], string(source))
			}
			b.ReportMetric(float64(len(ids)*b.N)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}
