package data

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tokenizerFolder returns a folder with a tokenizer.json that Hugging Face's tokenizers trained.
func tokenizerFolder(name string) string {
	return filepath.Join("..", "testdata", "reference", "tokenizer", name)
}

// TestTokenizerFiles compares ids, and the text that they stand for, with Hugging Face's tokenizers
// (0.23.3).
func TestTokenizerFiles(t *testing.T) {
	for _, name := range []string{"gpt2-digits", "llama3", "qwen"} {
		path := filepath.Join(tokenizerFolder(name), "tokenizer.json")
		tokenizer := newTokenizer(t, path)
		require.Equal(t, path, tokenizer.Name())
		require.Equal(t, 600, tokenizer.Vocab())
		require.Zero(t, tokenizer.BOS())
		text, err := os.ReadFile(filepath.Join(tokenizerFolder(name), "expected.json"))
		require.NoError(t, err)
		var cases []struct {
			Text, Decoded string
			IDs           []int32
		}
		require.NoError(t, json.Unmarshal(text, &cases))
		require.NotEmpty(t, cases)
		for _, c := range cases {
			got := tokenizer.Encode([]int32{}, c.Text)
			require.Equal(t, c.IDs, got, "%s: %q", name, c.Text)
			require.Equal(t, c.Decoded, tokenizer.Decode(got), "%s: %q", name, c.Text)
			require.Equal(t, got, tokenizer.Encode([]int32{}, c.Text), "%s: %q again", name, c.Text)
		}
		require.Equal(t, "a<|endoftext|>b", tokenizer.Decode(tokenizer.Encode(nil, "a<|endoftext|>b")))
		require.NotContains(t, tokenizer.Encode(nil, "<|endoftext|>"), tokenizer.BOS())
		require.Equal(t, "\ufffd", tokenizer.Decode([]int32{0, 600}))
		if name != "qwen" { // which normalizes
			const bytes = "\xff\x80 \xe2\x82"
			require.Equal(t, bytes, tokenizer.Decode(tokenizer.Encode(nil, bytes)))
		}
	}
}

// TestSequencesOfNormalizers: a sequence of none or of one normalizer is that one.
func TestSequencesOfNormalizers(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(tokenizerFolder("llama3"), "tokenizer.json"))
	require.NoError(t, err)
	for normalizer, want := range map[string]string{
		`null`:                                 "e\u0301",
		`{"type":"Sequence","normalizers":[]}`: "e\u0301",
		`{"type":"NFC"}`:                       "é",
		`{"type":"Sequence","normalizers":[{"type":"NFC"}]}`:                                      "é",
		`{"type":"Sequence","normalizers":[{"type":"Sequence","normalizers":[]},{"type":"NFC"}]}`: "é",
	} {
		path := filepath.Join(t.TempDir(), "tokenizer.json")
		require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(text), `"normalizer":null`, `"normalizer":`+normalizer, 1)), 0o600))
		tokenizer := newTokenizer(t, path)
		require.Equal(t, want, tokenizer.Decode(tokenizer.Encode(nil, "e\u0301")), normalizer)
	}
	path := filepath.Join(t.TempDir(), "tokenizer.json")
	const two = `"normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Lowercase"}]}`
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(text), `"normalizer":null`, two, 1)), 0o600))
	_, err = NewTokenizer(path)
	require.ErrorContains(t, err, `got "Lowercase"`)
}

func TestTokenizerFileRefuses(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(tokenizerFolder("llama3"), "tokenizer.json"))
	require.NoError(t, err)
	replace := func(old, with string) string {
		require.Contains(t, string(text), old)
		return strings.Replace(string(text), old, with, 1)
	}
	const config = `{"bos_token_id":0}`
	for _, c := range []struct{ tokenizer, config, want string }{
		{"{", config, "want a tokenizer.json of Hugging Face's tokenizers"},
		{"{}", config, `model.type: want BPE, got ""`},
		{replace(`"type":"BPE"`, `"type":"Unigram"`), config, `model.type: want BPE, got "Unigram"`},
		{replace(`"byte_fallback":false`, `"byte_fallback":true`), config, `pre_tokenizer: want a normalizer that replaces spaces, or a Metaspace of "▁", alone`},
		{replace(`"dropout":null`, `"dropout":0.1`), config, "model.dropout: want none, got 0.1"},
		{replace(`"continuing_subword_prefix":null`, `"continuing_subword_prefix":"##"`), config, `model.continuing_subword_prefix: want none, got "##"`},
		{replace(`"end_of_word_suffix":null`, `"end_of_word_suffix":"</w>"`), config, `model.end_of_word_suffix: want none, got "</w>"`},
		{replace(`"normalizer":null`, `"normalizer":{"type":"Lowercase"}`), config, `normalizer: want none or NFC, alone or in a Sequence, got "Lowercase"`},
		{replace(`"type":"Split"`, `"type":"Whitespace"`), config, `pre_tokenizer: want ByteLevel, Digits or Split, got "Whitespace"`},
		{replace(`{1,3}`, `{1,4}`), config, "pre_tokenizer: Split: want the pattern of Llama 3, of Qwen 2 and 3, or of o200k, got"},
		{replace(`"Isolated"`, `"Removed"`), config, "pre_tokenizer: Split: want behavior Isolated, got Removed, invert false"},
		{replace(`"add_prefix_space":false`, `"add_prefix_space":true`), config, "pre_tokenizer: add_prefix_space: want false"},
		{replace(`"merges":[`, `"merges":["a",`), config, `model.merges[0]: want two tokens, got "a"`},
		{replace(`"merges":[`, `"merges":["a zzzz",`), config, `model.merges[0]: want two tokens of the vocabulary, got "zzzz"`},
		{replace(`"merges":[`, `"merges":["~ ~",`), config, `model.merges[0]: want a union that is in the vocabulary, got "~~"`},
		{replace(`"!":1`, `"東":1`), config, `model.vocab: want tokens written by the characters of a byte-level BPE, got "東"`},
		{replace(`"!":1,`, ``), config, "model.vocab: want a token for each byte, got none for 0x21"},
		{replace(`"!":1`, `"!":-1`), config, "want ids from 0 to 1048575, got -1"},
		{replace(`"!":1`, `"!":2`), config, "model.vocab: want one token of id 2, got"},
		{replace(`"added_tokens":[`, `"added_tokens":[{"id":300,"content":"<a>"},{"id":300,"content":"<b>"},`), config, `added_tokens: want one token of id 300, got "<b>", too`},
		{replace(`"!":1`, `"!":99999999`), config, "want ids from 0 to 1048575, got 99999999"},
		{string(text), `{"bos_token_id":5}`, "added_tokens: want the token 5 of config.json that begins documents, got none of that id"},
		{string(text), `{"bos_token_id":"x"}`, "want numbers as bos_token_id and eos_token_id"},
		{string(text), `{"bos_token_id":null,"eos_token_id":null}`, "want a bos_token_id or eos_token_id that begins documents"},
		{string(text), `{}`, "want a bos_token_id or eos_token_id that begins documents"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "tokenizer.json")
		require.NoError(t, os.WriteFile(path, []byte(c.tokenizer), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(c.config), 0o600))
		_, err := NewTokenizer(path)
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, "data.tokenizer: "+path)
		require.NotContains(t, err.Error(), "\n")
	}
	_, err = NewTokenizer(filepath.Join(t.TempDir(), "tokenizer.json"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestBOSOfATokenizersFolder: the config.json may give no BOS.
func TestBOSOfATokenizersFolder(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(tokenizerFolder("llama3"), "tokenizer.json"))
	require.NoError(t, err)
	more := strings.Replace(string(text), `"added_tokens":[`, `"added_tokens":[{"id":65536,"content":"<begin>"},{"id":65537,"content":"<end>"},`, 1)
	for _, files := range []map[string]string{
		{"config.json": `{}`, "generation_config.json": `{"bos_token_id": 65536, "eos_token_id": [65537]}`},
		{"config.json": `{"eos_token_id": 65537}`, "tokenizer_config.json": `{"bos_token": "<begin>", "eos_token": "<end>"}`},
		{"config.json": `{"bos_token_id": null}`, "tokenizer_config.json": `{"bos_token": {"content": "<begin>", "lstrip": false}}`},
		{"generation_config.json": `{"eos_token_id": [65536, 65537]}`},
		{"config.json": `{}`, "tokenizer_config.json": `{"bos_token": null, "eos_token": "<begin>"}`},
		{"special_tokens_map.json": `{"bos_token": {"content": "<begin>"}, "eos_token": "<end>"}`},
	} {
		path := filepath.Join(t.TempDir(), "tokenizer.json")
		require.NoError(t, os.WriteFile(path, []byte(more), 0o600))
		for name, content := range files {
			require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(path), name), []byte(content), 0o600))
		}
		require.EqualValues(t, 65536, newTokenizer(t, path).BOS(), "%v", files)
	}
	alone := filepath.Join(t.TempDir(), "tokenizer.json")
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(alone), "special_tokens_map.json"), []byte(`{"unk_token": "x"}`), 0o600))
	require.NoError(t, os.WriteFile(alone, text, 0o600))
	require.Zero(t, newTokenizer(t, alone).BOS(), "the only special token")
	require.NoError(t, os.WriteFile(alone, []byte(strings.Replace(string(text), `"special":true`, `"special":false`, 1)), 0o600))
	_, err = NewTokenizer(alone)
	require.ErrorContains(t, err, "want a bos_token_id or eos_token_id that begins documents")
}

// TestTokenizersThatAddBOS: add_bos_token says it, or else what the tokenizer.json does after
// encoding.
func TestTokenizersThatAddBOS(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(tokenizerFolder("llama3"), "tokenizer.json"))
	require.NoError(t, err)
	require.Contains(t, string(text), `"post_processor":null`)
	const template = `{"type":"TemplateProcessing","single":[%s{"Sequence":{"id":"A","type_id":0}}]}`
	begins := fmt.Sprintf(template, `{"SpecialToken":{"id":"<|endoftext|>","type_id":0}},`)
	const byteLevel = `{"type":"ByteLevel","add_prefix_space":true}`
	for _, c := range []struct {
		after, config string
		want          bool
	}{
		{"null", "{}", false},
		{byteLevel, "{}", false},
		{fmt.Sprintf(template, ""), "{}", false},
		{fmt.Sprintf(template, `{"SpecialToken":{"id":"<other>","type_id":0}},`), "{}", false},
		{begins, "{}", true},
		{`{"type":"Sequence","processors":[` + byteLevel + `,` + begins + `]}`, "{}", true},
		{`{"type":"RobertaProcessing","sep":["<|endoftext|>",0],"cls":["<|endoftext|>",0]}`, "{}", true},
		{`{"type":"RobertaProcessing","sep":["<|endoftext|>",0],"cls":["x",1]}`, "{}", false},
		{begins, `{"add_bos_token": false}`, false},
		{"null", `{"add_bos_token": true}`, true},
		{"null", `{"add_bos_token": null}`, false},
		{"null", `{"add_bos_token": true}` + strings.Repeat(" ", 1_200_000), true}, // Gemma 3's lists 6,400 added tokens
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "tokenizer.json")
		require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(text), `"post_processor":null`, `"post_processor":`+c.after, 1)), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"bos_token_id": 0}`), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "tokenizer_config.json"), []byte(c.config), 0o600))
		tokenizer := newTokenizer(t, path)
		require.Equal(t, c.want, AddsBOS(tokenizer), "%+v", c)
		require.Equal(t, c.want, len(EncodePrompt(tokenizer, "!", nil)) == 2, "%+v", c)
		trained, err := TokenizerOf(Goroot{}, path)
		require.NoError(t, err)
		require.True(t, AddsBOS(trained), "documents begin with BOS in training")
		require.Equal(t, []int32{0}, EOS(trained))
		require.Equal(t, []int32{0}, EOS(tokenizer), "nothing names another end token")
	}
}

// largeTokenizer writes a tokenizer.json with an id that does not fit in two bytes, and a
// config.json next to it.
func largeTokenizer(t *testing.T) (path string) {
	text, err := os.ReadFile(filepath.Join(tokenizerFolder("llama3"), "tokenizer.json"))
	require.NoError(t, err)
	dir := t.TempDir()
	path = filepath.Join(dir, "tokenizer.json")
	more := strings.Replace(string(text), `"added_tokens":[`, `"added_tokens":[{"id":65536,"content":"<extra>"},`, 1)
	require.NoError(t, os.WriteFile(path, []byte(more), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"bos_token_id":65536}`), 0o600))
	return path
}

// TestCorpusOfALargeVocabulary: ids beyond two bytes are kept whole, in memory, in batches and in
// shards.
func TestCorpusOfALargeVocabulary(t *testing.T) {
	path := largeTokenizer(t)
	tokenizer := newTokenizer(t, path)
	require.EqualValues(t, 65536, tokenizer.BOS())
	files := filepath.Join(t.TempDir(), "a.txt")
	require.NoError(t, os.WriteFile(files, []byte("some text to read"), 0o600))
	o := Options{Source: Files{}, Paths: []string{files}, Tokenizer: path, Split: "none"}
	c, err := Load(t.Context(), o)
	require.NoError(t, err)
	ids := tokenizer.Encode([]int32{65536}, "some text to read")
	assert.Equal(t, ids, c.Train.Tokens.IDs())
	assert.Equal(t, 1, c.Train.Documents)
	assert.EqualValues(t, len("some text to read"), c.Train.TextBytes)

	inputs, targets := make([]int32, len(ids)-1), make([]int32, len(ids)-1)
	batches, err := NewBatcher(c.Train.Tokens, 1, len(inputs), 1)
	require.NoError(t, err)
	require.NoError(t, batches.Next(inputs, targets))
	assert.Equal(t, ids[:len(inputs)], inputs)
	assert.Equal(t, ids[1:], targets)

	dir := filepath.Join(t.TempDir(), "shards")
	index, err := prepared(t, dir, o, 0)
	require.NoError(t, err)
	info, err := os.Stat(filepath.Join(dir, index.Shards[0].Name))
	require.NoError(t, err)
	assert.EqualValues(t, shardHeaderSize+4*len(ids), info.Size())
	o.Source, o.Paths = Shards{}, []string{dir}
	again, err := Load(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, c.Train, again.Train)
	assert.Equal(t, c.Fingerprint, again.Fingerprint)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "odd.bin"), make([]byte, 6), 0o600))
	o.Paths = []string{filepath.Join(dir, "odd.bin")}
	_, err = Load(t.Context(), o)
	assert.ErrorContains(t, err, "want tokens of 4 bytes each, got 6 bytes")
}

// TestAddedTokens compares ids of texts that contain added tokens with Hugging Face's tokenizers
// (0.23.3, encode_special_tokens): tokens that are not special are found in the text or in the
// normalized text, and special ones are plain text.
func TestAddedTokens(t *testing.T) {
	var expected struct {
		Added []json.RawMessage
		Cases []struct {
			Text string
			IDs  []int32
		}
	}
	text, err := os.ReadFile(filepath.Join(tokenizerFolder("added.json")))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &expected))
	require.Len(t, expected.Cases, 158)
	path := addedTokenizer(t, "qwen", expected.Added...)
	tokenizer := newTokenizer(t, path)
	for _, c := range expected.Cases {
		require.Equal(t, c.IDs, tokenizer.Encode([]int32{}, c.Text), "%q", c.Text)
	}
	require.Equal(t, "<think>two</think> four", tokenizer.Decode(tokenizer.Encode(nil, "<think>two</think> four")))
	require.Empty(t, tokenizer.Decode([]int32{0, 608}), "special tokens")
	v, err := Vocabulary(path)
	require.NoError(t, err)
	require.Equal(t, []bool{true, false, false, true}, []bool{v.Added[600], v.Special[600], v.Added[608], v.Special[608]})
}

// addedTokenizer writes a reference's tokenizer.json with further added tokens, and its
// config.json.
func addedTokenizer(t *testing.T, name string, added ...json.RawMessage) (path string) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(tokenizerFolder(name))))
	path = filepath.Join(dir, "tokenizer.json")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var file map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(text, &file))
	var all []json.RawMessage
	require.NoError(t, json.Unmarshal(file["added_tokens"], &all))
	file["added_tokens"], err = json.Marshal(append(all, added...))
	require.NoError(t, err)
	text, err = json.Marshal(file)
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

// vocabFolder returns a folder with the vocabulary of the reference gpt2-digits as vocab.json and
// merges.txt, in which ids up to size have fillers, and other files.
func vocabFolder(t *testing.T, size int, files map[string]string) string {
	text, err := os.ReadFile(filepath.Join(tokenizerFolder("gpt2-digits"), "tokenizer.json"))
	require.NoError(t, err)
	var file tokenizerJSON
	require.NoError(t, json.Unmarshal(text, &file))
	merges := "#version: 0.2\n"
	for _, m := range file.Model.Merges {
		pair, err := parsePair(m)
		require.NoError(t, err)
		merges += pair[0] + " " + pair[1] + "\n"
	}
	for id := len(file.Model.Vocab); id < size; id++ {
		file.Model.Vocab[fmt.Sprintf("filler%d", id)] = int32(id)
	}
	vocab, err := json.Marshal(file.Model.Vocab)
	require.NoError(t, err)
	dir := t.TempDir()
	for _, f := range []map[string]string{{"vocab.json": string(vocab), "merges.txt": merges}, files} {
		for name, content := range f {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
		}
	}
	return dir
}

// TestVocabFiles compares ids by a vocab.json and a merges.txt with transformers (5.24).
func TestVocabFiles(t *testing.T) {
	const text = "It's 1234 <think>two</think>  e\u0301"
	plain := []int32{41, 84, 315, 221, 17, 18, 19, 20, 221, 28, 84, 72, 262, 75, 30, 84, 87, 79, 28, 15, 84, 72, 262, 75, 30, 221, 299, 137, 224}
	think := []int32{41, 84, 315, 221, 17, 18, 19, 20, 221, 600, 84, 87, 79, 28, 15, 84, 72, 262, 75, 30, 221, 299, 137, 224}
	composed := append(slices.Clone(plain[:len(plain)-3]), 221, 128, 103)
	for _, c := range []struct {
		files    map[string]string
		want     []int32
		bos, eos int32
	}{
		{nil, plain, 0, 0},
		{map[string]string{"config.json": `{"model_type": "gpt2", "bos_token_id": 50256, "eos_token_id": 0}`}, plain, 0, 0},
		{map[string]string{"tokenizer_config.json": `{"added_tokens_decoder": {"600": {"content": "<think>", "special": false}}}`}, think, 0, 0},
		{map[string]string{"added_tokens.json": `{"<think>": 600}`}, think, 0, 0},
		{map[string]string{"tokenizer_config.json": `{"tokenizer_class": "Qwen2Tokenizer"}`}, composed, 0, 0},
		{map[string]string{"config.json": `{"model_type": "qwen3"}`}, composed, 0, 0},
		{map[string]string{"special_tokens_map.json": `{"bos_token": "<s>", "eos_token": {"content": "</s>"}}`, "added_tokens.json": `{"<s>": 600, "</s>": 601}`}, nil, 600, 601},
	} {
		tokenizer := newTokenizer(t, filepath.Join(vocabFolder(t, 600, c.files), "vocab.json"))
		if c.want != nil {
			require.Equal(t, c.want, tokenizer.Encode(nil, text), "%v", c.files)
		}
		require.Equal(t, []int32{c.bos, c.eos}, []int32{tokenizer.BOS(), EOS(tokenizer)[0]}, "%v", c.files)
		require.False(t, AddsBOS(tokenizer))
	}
	dir := vocabFolder(t, 600, map[string]string{"tokenizer_config.json": `{"add_bos_token": true}`})
	tokenizer := newTokenizer(t, filepath.Join(dir, "vocab.json"))
	require.True(t, AddsBOS(tokenizer))
	require.Equal(t, digestOf(tokenizer), digestOf(newTokenizer(t, filepath.Join(dir, "vocab.json"))))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "merges.txt"), []byte("#version: 0.2\nt\n"), 0o600))
	_, err := NewTokenizer(filepath.Join(dir, "vocab.json"))
	require.ErrorContains(t, err, `vocab.json: model.merges[0]: want two tokens, got "t"`)
	require.NoError(t, os.Remove(filepath.Join(dir, "merges.txt")))
	_, err = NewTokenizer(filepath.Join(dir, "vocab.json"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
