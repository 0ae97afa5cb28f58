package data

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// writeFiles writes files below a new folder, named by slash-separated paths.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		disk := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(disk), 0o755))
		require.NoError(t, os.WriteFile(disk, []byte(text), 0o644))
	}
	return root
}

// filesIn returns options for the bytes of the files in these paths.
func filesIn(paths ...string) Options {
	return Options{Source: Files{}, Paths: paths, Split: "none"}
}

func load(t *testing.T, o Options) *Corpus {
	t.Helper()
	c, err := Load(t.Context(), o)
	require.NoError(t, err)
	return c
}

// loadError returns the message of the error that loading returns.
func loadError(t *testing.T, o Options) string {
	t.Helper()
	_, err := Load(t.Context(), o)
	require.Error(t, err)
	return err.Error()
}

// texts returns the documents of a stream.
func texts(tokenizer Tokenizer, stream Stream) []string {
	var all []string
	var ids []int32
	for i, id := range stream.Tokens.IDs() {
		if i > 0 && id == tokenizer.BOS() {
			all, ids = append(all, tokenizer.Decode(ids)), ids[:0]
		}
		ids = append(ids, id)
	}
	if ids != nil {
		all = append(all, tokenizer.Decode(ids))
	}
	return all
}

func TestLoadJoinsDocumentsInPathOrder(t *testing.T) {
	root := writeFiles(t, map[string]string{"b.txt": "B", "a/z.txt": "AZ", "a.txt": "A", "a-b.txt": "AB"})
	c := load(t, filesIn(root))
	assert.Equal(t, narrow(256, 'A', 'B', 256, 'A', 256, 'A', 'Z', 256, 'B'), c.Train.Tokens)
	assert.Equal(t, 4, c.Train.Documents)
	assert.EqualValues(t, 6, c.Train.TextBytes)
	assert.Empty(t, c.Val.Tokens)
	assert.Equal(t, "bytes", c.Tokenizer.Name())
}

// The rule is restated here on purpose, independently of splitRule.
func TestHashSplit(t *testing.T) {
	for _, c := range []struct {
		split string
		parts uint64
	}{{"", 20}, {"hash", 20}, {"hash/3", 3}} {
		files, train, val := map[string]string{}, []string{}, []string{}
		for i := range 200 {
			name := fmt.Sprintf("d%d/%03d.txt", i%3, i)
			files[name] = fmt.Sprintf("text %d", i)
		}
		for d := range 3 {
			for i := d; i < 200; i += 3 {
				name := fmt.Sprintf("d%d/%03d.txt", d, i)
				sum := sha256.Sum256([]byte(name))
				if binary.BigEndian.Uint64(sum[:8])%c.parts == 0 {
					val = append(val, files[name])
				} else {
					train = append(train, files[name])
				}
			}
		}
		require.NotEmpty(t, val)
		o := filesIn(writeFiles(t, files))
		o.Split = c.split
		corpus := load(t, o)
		assert.Equal(t, train, texts(corpus.Tokenizer, corpus.Train))
		assert.Equal(t, val, texts(corpus.Tokenizer, corpus.Val))
		assert.Equal(t, len(val), corpus.Val.Documents)
	}
}

func TestTailSplit(t *testing.T) {
	root := writeFiles(t, map[string]string{"a.txt": "0123456789", "b.txt": "abcdefgh"})
	o := filesIn(root)
	o.Split = "tail/4"
	c := load(t, o)
	assert.Equal(t, 15, c.Train.Tokens.Len())
	assert.Equal(t, narrow('d', 'e', 'f', 'g', 'h'), c.Val.Tokens)
	assert.Equal(t, 2, c.Train.Documents)
	assert.Equal(t, 0, c.Val.Documents)
	assert.EqualValues(t, 5, c.Val.TextBytes)
	o.Split = "tail"
	assert.Equal(t, 1, load(t, o).Val.Tokens.Len(), "a twentieth of 20")
}

func TestSplitErrors(t *testing.T) {
	for _, split := range []string{"hsah", "hash/1", "hash/0", "hash/-2", "hash/", "/20", "tail/x", "none/2", "0.1"} {
		o := filesIn(writeFiles(t, map[string]string{"a.txt": "a"}))
		o.Split = split
		assert.Equal(t, fmt.Sprintf("data.split: want hash, hash/N, tail, tail/N with N >= 2, or none, got %q", split), loadError(t, o))
	}
}

func TestLoadGPT2(t *testing.T) {
	root := writeFiles(t, map[string]string{"a.txt": "Hello world", "b.txt": "naïve"})
	o := filesIn(root)
	o.Tokenizer = "gpt2"
	c := load(t, o)
	assert.Equal(t, narrow(50256, 15496, 995, 50256, 2616, 38776), c.Train.Tokens)
	assert.EqualValues(t, len("Hello world")+len("naïve"), c.Train.TextBytes)
	assert.Equal(t, []string{"Hello world", "naïve"}, texts(c.Tokenizer, c.Train))
}

func TestFingerprint(t *testing.T) {
	o := filesIn(writeFiles(t, map[string]string{"a.txt": "ab"}))
	plain := load(t, o).Fingerprint
	sum := sha256.Sum256([]byte("bytes\x00" + "\x03\x00\x00\x00\x00\x00\x00\x00" + "\x00\x01a\x00b\x00" + "\x00\x00\x00\x00\x00\x00\x00\x00"))
	assert.Equal(t, hex.EncodeToString(sum[:]), plain)

	elsewhere := filesIn(writeFiles(t, map[string]string{"other.txt": "ab"}))
	assert.Equal(t, plain, load(t, elsewhere).Fingerprint, "the names of files are no part of it")

	seen := map[string]bool{plain: true}
	for name, change := range map[string]Options{
		"text":      filesIn(writeFiles(t, map[string]string{"a.txt": "ac"})),
		"split":     {Source: o.Source, Paths: o.Paths, Split: "tail/2"},
		"tokenizer": {Source: o.Source, Paths: o.Paths, Split: "none", Tokenizer: "gpt2"},
	} {
		got := load(t, change).Fingerprint
		assert.False(t, seen[got], name)
		seen[got] = true
	}
}

func TestLoadIsTheSameWithAnyThreads(t *testing.T) {
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("%d/%d.txt", i%7, i)] = strings.Repeat(fmt.Sprint(i, " "), i*i%500)
	}
	o := filesIn(writeFiles(t, files))
	o.Split = ""
	o.Threads = 1
	want := load(t, o)
	for _, threads := range []int{0, 2, 5, 64} {
		o.Threads = threads
		got := load(t, o)
		assert.Equal(t, want.Fingerprint, got.Fingerprint)
		assert.Equal(t, want.Train, got.Train)
		assert.Equal(t, want.Val, got.Val)
	}
}

func TestLoadRefusesUnknownNames(t *testing.T) {
	assert.Equal(t, `data.tokenizer: want one of bytes, gpt2 or the path of a tokenizer.json, got "bpe"`, loadError(t, Options{Tokenizer: "bpe"}))
}

func TestCheck(t *testing.T) {
	o := filesIn(writeFiles(t, map[string]string{"a.txt": strings.Repeat("x", 32)}))
	c := load(t, o) // 33 tokens
	assert.NoError(t, c.Check(4, 8))
	assert.EqualError(t, c.Check(3, 11), "data: training split: want at least 34 tokens (batch 3 x seq 11 + 1), got 33 in 1 documents: add text to data.path, or lower train.batch or model.seq")
}

func TestCheckValidation(t *testing.T) {
	o := filesIn(writeFiles(t, map[string]string{"a.txt": strings.Repeat("x", 32)}))
	want := func(split, message string) {
		t.Helper()
		o.Split = split
		c := load(t, o)
		require.NoError(t, c.Check(1, 8))
		assert.EqualError(t, c.CheckValidation(8), "data: validation split: want at least 9 tokens (seq 8 + 1), got "+message)
	}
	want("none", "0 in 0 documents; data.split is none: set it to hash or tail")
	want("tail/4", "8 in 0 documents; data.split holds out 1/4 of 33 tokens: add text, or set data.split: tail/2")
	o.Split = "tail/3"
	assert.NoError(t, load(t, o).CheckValidation(8))
	o = filesIn(writeFiles(t, map[string]string{"a.txt": strings.Repeat("x", 32), "b.txt": "y"}))
	want("hash", "0 in 0 documents; data.split holds out about one document in 20 by the hash of its name and the corpus has 2: set data.split: tail to hold out its end")
}

// TestCompressedTextBeyondTheMemory: a text that would fill the memory is refused while it is read,
// though its compressed size is plausible.
func TestCompressedTextBeyondTheMemory(t *testing.T) {
	text := strings.Repeat("some text that is read; ", 1<<14)
	for _, name := range []string{"a.txt", "a.jsonl"} {
		content := text
		if name == "a.jsonl" {
			content = strings.Repeat(`{"text":"`+text[:1<<10]+`"}`+"\n", 400)
		}
		o := one(t, name+".gz", gzipped(t, content))
		o.Memory = 8 << 10
		_, err := Load(t.Context(), o)
		require.ErrorContains(t, err, "of the memory that is available, got more", name)
		require.ErrorContains(t, err, name+".gz")
		o.Memory = 1 << 30
		_, err = Load(t.Context(), o)
		require.NoError(t, err)
		o = one(t, name, content) // decompressed, it is read as it is
		o.Memory = 8 << 10
		_, err = Load(t.Context(), o)
		require.NoError(t, err)
	}
}
