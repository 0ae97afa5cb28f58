package data

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/internal/fuzztest"
)

// ggufWith writes a GGUF file without tensors that has these keys tokenizer.ggml.NAME.
func ggufWith(t testing.TB, keys map[string]any) string {
	path := filepath.Join(t.TempDir(), "model.gguf")
	var all []checkpoint.GGUFEntry
	for key, value := range keys {
		all = append(all, checkpoint.GGUFEntry{Key: "tokenizer.ggml." + key, Value: value})
	}
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, checkpoint.EncodeGGUF(f, all, nil, nil))
	require.NoError(t, f.Close())
	return path
}

// keysOf returns the keys of a GGUF file for the tokenizer.json at path. A BPE of characters has
// the ranks of its merges as scores.
func keysOf(t testing.TB, path string) map[string]any {
	tokenizer, file, err := readTokenizer(path)
	require.NoError(t, err)
	v, err := Vocabulary(path)
	require.NoError(t, err)
	types, scores := make([]int32, len(v.Tokens)), make([]float32, len(v.Tokens))
	for id, token := range v.Tokens {
		switch word, _ := wordOf(token); {
		case v.Special[id]:
			types[id] = GGUFControl
		case v.Added[id]:
			types[id] = GGUFUserDefined
		case file.Model.ByteFallback && len(word) == 1 && len(token) == 6:
			types[id] = 6
		default:
			types[id] = GGUFNormal
		}
		scores[id] = float32(math.Inf(-1))
	}
	for rank, merge := range v.Merges {
		union := strings.ReplaceAll(merge, " ", "")
		scores[file.Model.Vocab[union]] = -float32(rank)
	}
	keys := map[string]any{"model": "gpt2", "pre": v.Pieces, "tokens": v.Tokens, "token_type": types, "merges": v.Merges,
		"bos_token_id": uint32(tokenizer.bos), "eos_token_id": uint32(tokenizer.eos[0]), "add_bos_token": tokenizer.addBOS}
	if file.Model.ByteFallback {
		delete(keys, "merges")
		delete(keys, "pre")
		keys["model"], keys["scores"], keys["add_space_prefix"] = "llama", scores, tokenizer.space.prepend != ""
	}
	return keys
}

// TestTokenizersOfGGUF: tokenizers in the keys of GGUF files give the ids of the tokenizer.json
// that they were made from, and are written as a tokenizer.json that gives them, too.
func TestTokenizersOfGGUF(t *testing.T) {
	for name, rule := range map[string]string{"neox": "gpt-2", "o200k": "gpt-4o", "llama": "", "gemma": "", "gpt2-digits": "smollm", "llama3": "llama-bpe", "qwen": "qwen2"} {
		folder := filepath.Join("..", "testdata", "tokenizers", name)
		if _, err := os.Stat(folder); err != nil {
			folder = tokenizerFolder(name)
		}
		keys := keysOf(t, filepath.Join(folder, "tokenizer.json"))
		if rule != "" {
			require.Equal(t, rule, keys["pre"])
		}
		own := newTokenizer(t, filepath.Join(folder, "tokenizer.json"))
		path := ggufWith(t, keys)
		text, err := TokenizerJSON(path)
		require.NoError(t, err)
		written := filepath.Join(t.TempDir(), "tokenizer.json")
		require.NoError(t, os.WriteFile(written, text, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(written), "config.json"), []byte(`{"bos_token_id": 1, "eos_token_id": 2}`), 0o600))
		if rule != "" {
			require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(written), "config.json"), []byte(`{"eos_token_id": 0}`), 0o600))
		}
		got, back := newTokenizer(t, path), newTokenizer(t, written)
		assert.Equal(t, []any{own.Vocab(), own.BOS(), EOS(own), AddsBOS(own)}, []any{got.Vocab(), got.BOS(), EOS(got), AddsBOS(got)}, name)
		assert.Equal(t, AddsBOS(own), AddsBOS(back), name)
		for _, text := range nasty(t) {
			if name == "llama" && strings.Contains(text, "<tool>") {
				continue // found in the normalized text by the one, and in the text by llama.cpp
			}
			want := own.Encode(nil, text)
			require.Equal(t, want, got.Encode(nil, text), "%s: %q", name, text)
			require.Equal(t, want, back.Encode(nil, text), "%s: %q", name, text)
			require.Equal(t, DecodeText(own, want), DecodeText(got, want), "%s: %q", name, text)
		}
	}
}

// nasty returns the texts of testdata/tokenizers.
func nasty(t testing.TB) (texts []string) {
	content, err := os.ReadFile(filepath.Join("..", "testdata", "tokenizers", "neox", "expected.json"))
	require.NoError(t, err)
	var cases [][]any
	require.NoError(t, json.Unmarshal(content, &cases))
	for _, c := range cases {
		texts = append(texts, c[0].(string))
	}
	return texts
}

// TestScoresOfGGUF: a SentencePiece of four tokens, made by hand: the best union is made first,
// characters without a token become bytes, and absent keys have llama.cpp's defaults.
func TestScoresOfGGUF(t *testing.T) {
	tokens, scores := []string{"<unk>", "<s>", "</s>"}, make([]float32, 3)
	types := []int32{2, GGUFControl, GGUFControl}
	for b := range 256 {
		tokens, scores, types = append(tokens, "<0x"+strings.ToUpper(string("0123456789abcdef"[b>>4])+string("0123456789abcdef"[b&15]))+">"), append(scores, 0), append(types, 6)
	}
	for i, token := range []string{"▁", "a", "b", "ab", "▁a", "bb", "unused"} {
		tokens, scores, types = append(tokens, token), append(scores, []float32{-10, -11, -12, -1, -2, -3, 0}[i]), append(types, GGUFNormal)
	}
	types[len(types)-1] = GGUFUnused
	keys := map[string]any{"model": "llama", "tokens": tokens, "scores": scores, "token_type": types}
	tokenizer := newTokenizer(t, ggufWith(t, keys))
	require.Equal(t, []int32{259, 262}, tokenizer.Encode(nil, "ab"), "ab is better than ▁a")
	require.Equal(t, []int32{263, 3 + 'c', 264}, tokenizer.Encode(nil, "acbb"))
	require.Equal(t, []int32{259, 3 + 0xc3, 3 + 0xa9}, tokenizer.Encode(nil, "é"))
	require.Equal(t, []any{int32(1), []int32{2}, true, 265}, []any{tokenizer.BOS(), EOS(tokenizer), AddsBOS(tokenizer), tokenizer.Vocab()})
	scores[262], scores[263] = -2, -1
	require.Equal(t, []int32{263, 261}, newTokenizer(t, ggufWith(t, keys)).Encode(nil, "ab"), "▁a is better than ab")
	keys["add_space_prefix"] = false
	require.Equal(t, []int32{262}, newTokenizer(t, ggufWith(t, keys)).Encode(nil, "ab"))
}

// TestTokenizersOfGGUFRefuses: the error names the key.
func TestTokenizersOfGGUFRefuses(t *testing.T) {
	good := func() map[string]any {
		return keysOf(t, filepath.Join("..", "testdata", "tokenizers", "llama", "tokenizer.json"))
	}
	for want, change := range map[string]func(keys map[string]any){
		`tokenizer.ggml.model: want gpt2 or llama, got "t5"`:                                              func(keys map[string]any) { keys["model"] = "t5" },
		`tokenizer.ggml.pre: want gpt-2, llama-bpe, qwen2 or another rule that is known, got "chameleon"`: func(keys map[string]any) { keys["model"], keys["pre"] = "gpt2", "chameleon" },
		`tokenizer.ggml: want 1 to 1048576 tokens, and a token_type for each, got 0 and 0`:                func(keys map[string]any) { delete(keys, "tokens"); delete(keys, "token_type") },
		`tokenizer.ggml: want 1 to 1048576 tokens, and a token_type for each, got 1000 and 1`:             func(keys map[string]any) { keys["token_type"] = []int32{1} },
		`tokenizer.ggml.scores: want one for each of 1000 tokens, got 0`:                                  func(keys map[string]any) { delete(keys, "scores") },
		`added_tokens: want the token 5000 of config.json that begins documents`:                          func(keys map[string]any) { keys["bos_token_id"] = uint32(5000) },
		`model.vocab: want a token <0x00> to <0xFF> for each byte, got 255`:                               func(keys map[string]any) { keys["tokens"].([]string)[7] = "seven" },
	} {
		keys := good()
		change(keys)
		_, err := NewTokenizer(ggufWith(t, keys))
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "\n")
	}
}

// TestHostileTokenizersOfGGUF: tokenizers of many tokens, long ones, or many merges take no more
// memory than their size justifies.
func TestHostileTokenizersOfGGUF(t *testing.T) {
	const size = 5 << 20
	spm, bpe := keysOf(t, filepath.Join("..", "testdata", "tokenizers", "llama", "tokenizer.json")), keysOf(t, filepath.Join("..", "testdata", "tokenizers", "neox", "tokenizer.json"))
	more := func(keys map[string]any, token func(i int) string, n int) map[string]any {
		all := maps.Clone(keys)
		tokens := slices.Clone(keys["tokens"].([]string))
		for i := range n {
			tokens = append(tokens, token(i))
		}
		all["tokens"] = tokens
		delete(all, "token_type")
		if keys["scores"] != nil {
			all["scores"] = make([]float32, len(tokens))
		}
		return all
	}
	short := func(i int) string { return strconv.FormatInt(int64(i), 36) }
	long := func(i int) string { return strings.Repeat("a", 60000+i) }
	rising := func(i int) string { return strings.Repeat("a", i) }
	merges := maps.Clone(bpe)
	merges["merges"] = slices.Repeat([]string{"a b"}, size/11)
	few := maps.Clone(bpe)
	few["merges"] = slices.Repeat([]string{"a b"}, 60_000)
	for name, keys := range map[string]map[string]any{
		"short": more(spm, short, size/16), "long": more(spm, long, size/60000), "rising": more(spm, rising, 3000), "short, bytes": more(bpe, short, size/16), "merges": merges,
		"as many as a file may have": more(spm, short, 60_000), "as long": more(spm, rising, 1600), "as many, bytes": more(bpe, short, 60_000), "as many merges": few,
	} {
		t.Run(name, func(t *testing.T) {
			path := ggufWith(t, keys)
			info, err := os.Stat(path)
			require.NoError(t, err)
			fuzztest.Bounded(t, int(info.Size()), func() {
				_, err := NewTokenizer(path)
				fuzztest.OneLine(t, err)
				if strings.HasPrefix(name, "as ") {
					require.NoError(t, err)
				} else {
					require.ErrorContains(t, err, "tokenizer.ggml: want tokens and merges of at most")
				}
			})
		})
	}
}
