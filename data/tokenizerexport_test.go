package data

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTokenizerJSON: a tokenizer that is written as a tokenizer.json and read back splits text as
// before and has the same vocabulary.
func TestTokenizerJSON(t *testing.T) {
	for _, name := range TokenizerNames() {
		own := newTokenizer(t, name)
		text, err := TokenizerJSON(name)
		require.NoError(t, err)
		dir := t.TempDir()
		path := filepath.Join(dir, "tokenizer.json")
		require.NoError(t, os.WriteFile(path, text, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), fmt.Appendf(nil, `{"bos_token_id":%d}`, own.BOS()), 0o600))
		back := newTokenizer(t, path)
		require.Equal(t, own.Vocab(), back.Vocab())
		require.Equal(t, own.BOS(), back.BOS())
		for _, text := range []string{"func main() {\n\treturn\n}\n", "naïve café — 日本語 🙂 it's 1234  spaces", "a\x7fb\xff\x80", strings.Repeat("antidisestablishmentarianism ", 20)} {
			require.Equal(t, own.Encode(nil, text), back.Encode(nil, text), "%s: %q", name, text)
		}
		want, err := Vocabulary(name)
		require.NoError(t, err)
		got, err := Vocabulary(path)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Len(t, got.Tokens, own.Vocab())
		var file struct {
			Post struct {
				Processors []struct {
					Type    string           `json:"type"`
					Single  []map[string]any `json:"single"`
					Special map[string]struct {
						IDs []int32 `json:"ids"`
					} `json:"special_tokens"`
				} `json:"processors"`
			} `json:"post_processor"`
		}
		require.NoError(t, json.Unmarshal(text, &file))
		begins := file.Post.Processors[1]
		require.Equal(t, "TemplateProcessing", begins.Type)
		require.Contains(t, begins.Single[0], "SpecialToken")
		require.Contains(t, begins.Single[1], "Sequence")
		require.Equal(t, EncodePrompt(own, "", nil), begins.Special[endOfText].IDs, "what stands before a text there is what does here")
		_, err = TokenizerJSON(path)
		require.ErrorContains(t, err, "is a tokenizer.json already")
	}
	_, err := Vocabulary("words")
	require.ErrorContains(t, err, "data.tokenizer: want one of")
}

// TestVocabularyOfFiles: each file's rule for splitting text has llama.cpp's name for it, or none.
func TestVocabularyOfFiles(t *testing.T) {
	for name, want := range map[string]string{"gpt2-digits": "smollm", "llama3": "llama-bpe", "qwen": "qwen2"} {
		v, err := Vocabulary(filepath.Join(tokenizerFolder(name), "tokenizer.json"))
		require.NoError(t, err)
		require.Equal(t, want, v.Pieces, name)
		require.Len(t, v.Tokens, 600)
		require.True(t, v.Special[0])
		require.NotContains(t, v.Tokens, "")
	}
}
