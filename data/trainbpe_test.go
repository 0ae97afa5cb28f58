package data

import (
	"crypto/sha256"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReferenceTrainedTokenizer compares the merges with those of Hugging Face's BpeTrainer
// (tokenizers 0.23.3, minimal frequency 2, the bytes as initial alphabet), and ids with the ones
// that it computes from the tokenizer.json written here.
func TestReferenceTrainedTokenizer(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("..", "testdata", "reference", "tokenizer", "trained.json"))
	require.NoError(t, err)
	var want struct {
		Text   string
		Vocab  int
		Merges []string
		Cases  []struct {
			Text string
			IDs  []int32
		}
	}
	require.NoError(t, json.Unmarshal(content, &want))
	require.Greater(t, len(want.Merges), 100)
	o := filesIn(writeFiles(t, map[string]string{"text.txt": want.Text}))
	o.Tokenizer = trainedPrefix + "380"
	require.Equal(t, 380, want.Vocab)
	dir := t.TempDir()
	meta, err := prepared(t, dir, o, 0)
	require.NoError(t, err)
	require.Equal(t, 380, meta.Vocab)
	require.Equal(t, tokenizerName, meta.Tokenizer)
	path := filepath.Join(dir, tokenizerName)
	vocabulary, err := Vocabulary(path)
	require.NoError(t, err)
	require.Equal(t, want.Merges, vocabulary.Merges)
	tokenizer := newTokenizer(t, path)
	require.EqualValues(t, 379, tokenizer.BOS(), "the only special token, without other files in the folder")
	for _, c := range want.Cases {
		require.Equal(t, c.IDs, tokenizer.Encode([]int32{}, c.Text), c.Text)
		require.Equal(t, c.Text, tokenizer.Decode(c.IDs))
	}
	read := shardsIn(dir)
	read.Tokenizer = path
	assert.Equal(t, []string{want.Text}, texts(tokenizer, load(t, read).Train))
}

// naiveBPE counts all pairs again before each merge.
func naiveBPE(pieces map[string]int64, merges int) []string {
	type word struct {
		parts []string
		times int64
	}
	var words []word
	for piece, times := range pieces {
		words = append(words, word{strings.Split(piece, ""), times})
	}
	rank := map[string]int{}
	for i, b := range bytesInOrder() {
		rank[string([]byte{b})] = i
	}
	var made []string
	for range merges {
		counts := map[[2]string]int64{}
		for _, w := range words {
			for i := range w.parts[1:] {
				counts[[2]string{w.parts[i], w.parts[i+1]}] += w.times
			}
		}
		var best [2]string
		for pair, n := range counts {
			m := counts[best]
			if n > m || n == m && (rank[pair[0]] < rank[best[0]] || pair[0] == best[0] && rank[pair[1]] < rank[best[1]]) {
				best = pair
			}
		}
		made = append(made, best[0]+" "+best[1])
		union := best[0] + best[1]
		if _, known := rank[union]; !known {
			rank[union] = len(rank)
		}
		for w := range words {
			var parts []string
			for i := 0; i < len(words[w].parts); i++ {
				if i+1 < len(words[w].parts) && words[w].parts[i] == best[0] && words[w].parts[i+1] == best[1] {
					parts = append(parts, union)
					i++
				} else {
					parts = append(parts, words[w].parts[i])
				}
			}
			words[w].parts = parts
		}
	}
	return made
}

// TestTrainingEqualsCountingAgain compares training with a fresh count of all pairs before each
// merge. Its words have no runs of one letter: in these, pairs overlap, and Hugging Face's trainer
// and ours count them differently from a fresh count.
func TestTrainingEqualsCountingAgain(t *testing.T) {
	for seed := range uint64(20) {
		random, pieces := rand.New(rand.NewPCG(seed, 0)), map[string]int64{}
		for range 60 {
			word, last := "", byte(0)
			for range 1 + random.IntN(9) {
				if letter := byte('a' + random.IntN(5)); letter != last {
					word, last = word+string(letter), letter
				}
			}
			pieces[word] += 1 + random.Int64N(4)
		}
		const merges = 12
		v, err := trainBPE(pieces, 257+merges)
		require.NoError(t, err)
		require.Equal(t, naiveBPE(pieces, merges), v.Merges, "seed %d", seed)
		require.Len(t, v.Tokens, 257+merges)
		require.Equal(t, endOfText, v.Tokens[256+merges])
	}
}

func TestTrainingNeedsPairs(t *testing.T) {
	_, err := trainBPE(map[string]int64{"ab": 5, "abc": 1, "x": 9}, 300)
	require.EqualError(t, err, "want text that has pairs for 43 merges, got 1 that occur at least twice: add text, or train at most 258 ids")
	v, err := trainBPE(nil, 257)
	require.NoError(t, err)
	require.Len(t, v.Tokens, 257, "the bytes and the token that begins documents")
}

// TestValidationTrainsNoTokenizer: what is frequent in a validation document alone is not merged.
func TestValidationTrainsNoTokenizer(t *testing.T) {
	files, rule := map[string]string{}, splitRule{splitHash, 2}
	for i, name := range map[side]string{sideTrain: "train.txt", sideValidation: "val.txt"} {
		text := map[side]string{sideTrain: "ab ab ", sideValidation: strings.Repeat("zq ", 50)}[i]
		for rule.sideOf(sha256.Sum256([]byte(text))) != i {
			text += "."
		}
		files[name] = text
	}
	o := filesIn(writeFiles(t, files))
	o.Tokenizer, o.Split = trainedPrefix+"258", "hash/2"
	dir := t.TempDir()
	meta, err := prepared(t, dir, o, 0)
	require.NoError(t, err)
	require.EqualValues(t, 1, meta.Validation.Documents)
	vocabulary, err := Vocabulary(filepath.Join(dir, tokenizerName))
	require.NoError(t, err)
	require.Equal(t, []string{"a b"}, vocabulary.Merges)
}
