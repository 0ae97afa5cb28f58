package data

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// one returns options for one file, split by hash.
func one(t *testing.T, name, content string) Options {
	t.Helper()
	o := filesIn(writeFiles(t, map[string]string{name: content}))
	o.Split = ""
	return o
}

func TestCorpusOfOneDocumentHoldsOutItsTail(t *testing.T) {
	text := strings.Repeat("0123456789", 10) // 101 tokens
	want := narrow(append([]uint16{byteBOS}, widened(text)...)...)
	held := "held.txt" // by its name's hash, all of it would be validation
	for i := 0; !(splitRule{splitHash, 20}).holdsOut(Document{Name: held}); i++ {
		held = strings.Repeat("x", i) + ".txt"
	}
	line := `{"text":"` + text + `"}`
	for name, content := range map[string]string{
		"a.txt": text, held: text, "a": text, "a.txt.gz": gzipped(t, text), "a.txt.zst": zstded(t, text), "a.jsonl": line, "a.jsonl.gz": gzipped(t, line),
	} {
		o := one(t, name, content)
		c := load(t, o)
		assert.Equal(t, want.Slice(0, 96), c.Train.Tokens, name)
		assert.Equal(t, want.From(96), c.Val.Tokens, name)
		assert.EqualValues(t, 95, c.Train.TextBytes)
		assert.NoError(t, c.Check(5, 19))
		assert.NoError(t, c.CheckValidation(4))
		assert.ErrorContains(t, c.CheckValidation(5), "data.split holds out 1/20 of 101 tokens: add text, or set data.split: tail/2")
		assert.Equal(t, []string{"data.split: the corpus is one document: its last 1/20 is the validation split"}, c.Notes)
		o.Split = "tail"
		assert.Equal(t, load(t, o).Fingerprint, c.Fingerprint)
		assert.Empty(t, load(t, o).Notes)
		o.Split = "hash/4"
		assert.Equal(t, 25, load(t, o).Val.Tokens.Len())
		o.Split = "none"
		assert.Zero(t, load(t, o).Val.Tokens.Len())
	}
}

// Only a single document is treated like this: the split of any other corpus stays as it was.
func TestCorpusOfTwoDocumentsIsSplitByName(t *testing.T) {
	for _, files := range []map[string]string{{"a.txt": "a", "b.txt": "b"}, {"c.jsonl": "{\"text\":\"a\"}\n{\"text\":\"b\"}"}} {
		o := filesIn(writeFiles(t, files))
		o.Split = "hash"
		c := load(t, o)
		assert.Equal(t, narrow(byteBOS, 'a', byteBOS, 'b'), c.Train.Tokens)
		assert.Zero(t, c.Val.Tokens.Len())
		assert.Empty(t, c.Notes)
		assert.Same(t, c, c.Whole())
	}
}

func TestTailOfOneDocumentIsGivenBack(t *testing.T) {
	o := one(t, "a.txt", strings.Repeat("x", 99))
	c := load(t, o)
	o.Split = "none"
	none := load(t, o)
	whole := c.Whole()
	assert.Equal(t, none.Train, whole.Train)
	assert.Zero(t, whole.Val.Tokens.Len())
	assert.Equal(t, none.Fingerprint, whole.Fingerprint)
	assert.Equal(t, []string{"data.split: the corpus is one document, too short to hold out 1/20 of it: there is no validation split"}, whole.Notes)
	assert.Equal(t, 95, c.Train.Tokens.Len(), "c itself stays")
}

// A run that began before such files were read in this way continues with the same bits.
func TestCorpusIsReadAsItWasWhereAFingerprintAsksForIt(t *testing.T) {
	matching := func(c *Corpus, fingerprint string) *Corpus {
		t.Helper()
		m, err := c.Matching(t.Context(), fingerprint)
		require.NoError(t, err)
		return m
	}
	o := one(t, "a.txt", strings.Repeat("x", 99))
	c := load(t, o)
	o.Split = "none"
	former := load(t, o)
	require.NotEqual(t, former.Fingerprint, c.Fingerprint)
	assert.Same(t, c, matching(c, c.Fingerprint))
	assert.Equal(t, former.Train, matching(c, former.Fingerprint).Train)
	assert.Nil(t, matching(c, "another"))

	texts := map[string]string{"a.txt": "a", "b.txt": "b"}
	former = load(t, filesIn(writeFiles(t, texts)))
	texts["README"], texts["image.png"] = "readme", "x"
	c = load(t, filesIn(writeFiles(t, texts)))
	require.NotEqual(t, former.Fingerprint, c.Fingerprint)
	assert.Equal(t, former.Train, matching(c, former.Fingerprint).Train)
	assert.Nil(t, matching(c, "another"))

	delete(texts, "b.txt") // both at once
	delete(texts, "README")
	o = filesIn(writeFiles(t, texts))
	o.Split = ""
	former = load(t, o).Whole()
	texts["README"] = "readme"
	o = filesIn(writeFiles(t, texts))
	o.Split = ""
	assert.Equal(t, former.Train, matching(load(t, o), former.Fingerprint).Train)
}

// widened returns the bytes of a text as tokens.
func widened(text string) []uint16 {
	tokens := make([]uint16, len(text))
	for i := range tokens {
		tokens[i] = uint16(text[i])
	}
	return tokens
}
