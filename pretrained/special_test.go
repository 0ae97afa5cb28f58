package pretrained_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/pretrained"
)

// ended returns a folder of a Llama whose logits are zero, with a tokenizer that has further
// special tokens <|end|> (600) and <|im_end|> (601), and the other files.
func ended(t *testing.T, files map[string]string) string {
	f := openForeign(t, llama)
	f.config["vocab_size"], f.config["bos_token_id"], f.config["eos_token_id"] = 602, 0, 600
	for _, name := range []string{"model.embed_tokens.weight", "lm_head.weight"} {
		w := f.tensor(name)
		w.Shape, w.Data = []int{602, 24}, make([]float32, 602*24)
	}
	dir := f.write(t)
	copyTokenizer(t, dir)
	path := filepath.Join(dir, "tokenizer.json")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	const more = `"added_tokens":[{"id":600,"content":"<|end|>","special":true},{"id":601,"content":"<|im_end|>","special":true},`
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(text), `"added_tokens":[`, more, 1)), 0o600))
	for name, content := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	return dir
}

// endings are the files of a model with several end tokens.
var endings = map[string]string{
	"generation_config.json": `{"bos_token_id": 0, "eos_token_id": [600, 601]}`,
	"tokenizer_config.json":  `{"bos_token": "<|endoftext|>", "eos_token": "<|end|>", "add_bos_token": false}`,
}

// forced generates 6 tokens, each the given one, after a prompt.
func forced(t *testing.T, p *pretrained.Model, r generate.Request, id int32) (string, generate.Result) {
	g, err := p.Generator(generate.Options{})
	require.NoError(t, err)
	defer g.Close()
	r.Tokens, r.LogitBias = 6, map[int32]float64{id: 100}
	text := ""
	result, err := g.Generate(context.Background(), r, func(p generate.Piece) error {
		text += p.Text
		return nil
	})
	require.NoError(t, err)
	return text, result
}

// TestImportedModelsStop: an imported model ends its texts at each of its end tokens, whose names
// are not printed, and not at its BOS; prompts are read without BOS, unless the call wants it.
func TestImportedModelsStop(t *testing.T) {
	p := open(t, ended(t, endings))
	require.Empty(t, p.Source.Warnings)
	tokenizer, err := p.Tokenizer()
	require.NoError(t, err)
	hello := tokenizer.Encode(nil, "hello")
	for _, id := range []int32{600, 601} {
		text, result := forced(t, p, generate.Request{Prompt: "hello"}, id)
		require.Empty(t, text)
		require.Equal(t, generate.StopDocument, result.Stop)
		require.Zero(t, result.Tokens)
		require.Equal(t, hello, result.PromptIDs, "this tokenizer adds no BOS")
	}
	text, result := forced(t, p, generate.Request{Prompt: "hello"}, 0)
	require.Equal(t, generate.StopTokens, result.Stop)
	require.Equal(t, 6, result.Tokens)
	require.Empty(t, text)
	yes, no := true, false
	_, result = forced(t, p, generate.Request{Prompt: "hello", BOS: &yes}, 600)
	require.Equal(t, append([]int32{0}, hello...), result.PromptIDs)
	_, result = forced(t, p, generate.Request{}, 600)
	require.Equal(t, []int32{0}, result.PromptIDs, "BOS stands for an empty prompt")
	added := open(t, ended(t, map[string]string{"tokenizer_config.json": `{"add_bos_token": true}`}))
	_, result = forced(t, added, generate.Request{Prompt: "hello"}, 600)
	require.Equal(t, append([]int32{0}, hello...), result.PromptIDs)
	_, result = forced(t, added, generate.Request{Prompt: "hello", BOS: &no}, 600)
	require.Equal(t, hello, result.PromptIDs)
}

// TestEndTokensOfFiles: generation_config.json comes before config.json, which comes before
// tokenizer_config.json; a model without a tokenizer has end tokens, too.
func TestEndTokensOfFiles(t *testing.T) {
	for _, c := range []struct {
		files map[string]string
		want  []int32
	}{
		{nil, []int32{600}},
		{endings, []int32{600, 601}},
		{map[string]string{"generation_config.json": `{"eos_token_id": 601}`}, []int32{601}},
		{map[string]string{"generation_config.json": `{"eos_token_id": null}`}, []int32{600}},
		{map[string]string{"tokenizer_config.json": `{"eos_token": "<|im_end|>"}`}, []int32{600}},
	} {
		dir := ended(t, c.files)
		tokenizer, err := open(t, dir).Tokenizer()
		require.NoError(t, err)
		require.Equal(t, c.want, data.EOS(tokenizer), "%v", c.files)
		require.NoError(t, os.Remove(filepath.Join(dir, "tokenizer.json")))
		p := open(t, dir)
		require.Empty(t, p.Data.Tokenizer)
		file := filepath.Join(t.TempDir(), "model.safetensors")
		require.NoError(t, exportAs(p, "residua", file, pretrained.ExportOptions{}))
		folder, again := exported(t, p)
		text, err := os.ReadFile(filepath.Join(folder, "config.json"))
		require.NoError(t, err)
		require.Contains(t, string(text), `"bos_token_id": 0`)
		for _, id := range c.want {
			for _, m := range []*pretrained.Model{p, open(t, file), again} {
				_, result := forced(t, m, generate.Request{IDs: []int32{5}}, id)
				require.Equal(t, generate.StopDocument, result.Stop, "%v: %d", c.files, id)
			}
		}
	}
}

// TestExportsKeepEndTokens: Hugging Face folders and GGUF files have the imported model's tokens.
func TestExportsKeepEndTokens(t *testing.T) {
	p := open(t, ended(t, endings))
	folder, again := exported(t, p)
	for _, name := range []string{"config.json", "generation_config.json"} {
		var c map[string]any
		text, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &c))
		require.EqualValues(t, 0, c["bos_token_id"], name)
		require.Equal(t, []any{600., 601.}, c["eos_token_id"], name)
	}
	_, result := forced(t, again, generate.Request{Prompt: "hello"}, 601)
	require.Equal(t, generate.StopDocument, result.Stop)
	require.NotEqual(t, int32(0), result.PromptIDs[0])
	path := filepath.Join(t.TempDir(), "model.gguf")
	require.NoError(t, exportAs(p, "gguf", path, pretrained.ExportOptions{}))
	m := parseGGUF(t, path).metadata
	for key, want := range map[string]any{"bos_token_id": uint32(0), "eos_token_id": uint32(600), "eot_token_id": uint32(601), "add_bos_token": false} {
		require.Equal(t, want, m["tokenizer.ggml."+key], key)
	}
}

// TestRunsBeginAndEndWithBOS: a run's documents begin with BOS, so its model reads prompts after
// BOS and ends texts at BOS, whatever its tokenizer's files say, also once it has been exported.
func TestRunsBeginAndEndWithBOS(t *testing.T) {
	p := open(t, ended(t, endings))
	p.Data.Source = data.Goroot{}
	folder, again := exported(t, p)
	for _, m := range []*pretrained.Model{p, again} {
		_, result := forced(t, m, generate.Request{Prompt: "hello"}, 0)
		require.Equal(t, generate.StopDocument, result.Stop)
		require.Zero(t, result.PromptIDs[0])
	}
	text, err := os.ReadFile(filepath.Join(folder, "tokenizer.json"))
	require.NoError(t, err)
	var file struct {
		After struct{ Type string } `json:"post_processor"`
	}
	require.NoError(t, json.Unmarshal(text, &file))
	require.Equal(t, "TemplateProcessing", file.After.Type, "transformers puts BOS before a text, too")
}

// TestTypesOfAddedTokens: in a GGUF file added tokens that text encodes to are user defined,
// special ones are control tokens.
func TestTypesOfAddedTokens(t *testing.T) {
	dir := ended(t, nil)
	path := filepath.Join(dir, "tokenizer.json")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(text), `"<|im_end|>","special":true`, `"<think>","special":false`, 1)), 0o600))
	gguf := filepath.Join(t.TempDir(), "model.gguf")
	require.NoError(t, exportAs(open(t, dir), "gguf", gguf, pretrained.ExportOptions{}))
	m := parseGGUF(t, gguf).metadata
	types, tokens := m["tokenizer.ggml.token_type"].([]any), m["tokenizer.ggml.tokens"].([]any)
	require.Equal(t, []any{int32(1), int32(3), int32(4)}, []any{types[5], types[600], types[601]})
	require.Equal(t, "<think>", tokens[601])
}
