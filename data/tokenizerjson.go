package data

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"
)

const (
	maxTokenizerFile = 64 << 20 // bytes of a tokenizer.json; vocabularies of 150,000 ids take 12 MB
	maxTokenizerIDs  = 1 << 20
)

// IsTokenizerFile tells whether NewTokenizer takes a name for that of a file.
func IsTokenizerFile(name string) bool { return strings.HasSuffix(name, ".json") }

// tokenizerJSON is what of a tokenizer.json changes how text is encoded.
type tokenizerJSON struct {
	Normalizer   *step         `json:"normalizer"`
	PreTokenizer *preTokenizer `json:"pre_tokenizer"`
	Added        []struct {
		ID      int32  `json:"id"`
		Content string `json:"content"`
	} `json:"added_tokens"`
	Model struct {
		Type         string            `json:"type"`
		Vocab        map[string]int32  `json:"vocab"`
		Merges       []json.RawMessage `json:"merges"` // "a b" or ["a", "b"]
		Dropout      *float64          `json:"dropout"`
		Prefix       *string           `json:"continuing_subword_prefix"`
		Suffix       *string           `json:"end_of_word_suffix"`
		ByteFallback bool              `json:"byte_fallback"`
		IgnoreMerges bool              `json:"ignore_merges"`
	} `json:"model"`
}

// step is a part of a tokenizer.json that has a type.
type step struct {
	Type string `json:"type"`
}

// readTokenizer reads the tokenizer.json of a Hugging Face folder: a byte-level
// BPE whose pieces are GPT-2's, Llama 3's or Qwen's, or GPT-2's between digits.
// BOS is the bos_token_id of the config.json next to it or, without, its
// eos_token_id. Special tokens that are written in a text are plain text.
func readTokenizer(path string) (*bpeTokenizer, error) {
	text, err := ReadFile(path, maxTokenizerFile)
	if err != nil {
		return nil, err
	}
	bos, err := readBOS(filepath.Join(filepath.Dir(path), "config.json"))
	if err != nil {
		return nil, errors.Wrap(err, path)
	}
	t, err := parseTokenizer(text, bos)
	if err != nil {
		return nil, errors.Wrap(err, path)
	}
	t.name = path
	return newBPE(t), nil
}

// readBOS returns the id that a config.json says documents begin with.
func readBOS(path string) (int32, error) {
	text, err := ReadFile(path, 1<<20)
	if err != nil {
		return 0, err
	}
	var c struct {
		BOS *int32          `json:"bos_token_id"`
		EOS json.RawMessage `json:"eos_token_id"` // a number or a list
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return 0, errors.Wrapf(err, "%s: want numbers as bos_token_id and eos_token_id", path)
	}
	if c.BOS != nil {
		return *c.BOS, nil
	}
	var one int32
	var list []int32
	if json.Unmarshal(c.EOS, &list) == nil && len(list) > 0 {
		return list[0], nil
	}
	if string(c.EOS) == "null" || json.Unmarshal(c.EOS, &one) != nil {
		return 0, errors.Errorf("%s: want a bos_token_id or eos_token_id that begins documents, got neither", path)
	}
	return one, nil
}

// parseTokenizer is the tokenizer of a tokenizer.json, but for its name.
func parseTokenizer(text []byte, bos int32) (bpeTokenizer, error) {
	var file tokenizerJSON
	if err := json.Unmarshal(text, &file); err != nil {
		return bpeTokenizer{}, errors.Wrap(err, "want a tokenizer.json of Hugging Face's tokenizers")
	}
	m := file.Model
	switch {
	case m.Type != "BPE":
		return bpeTokenizer{}, errors.Errorf("model.type: want BPE, got %q: it is not built", m.Type)
	case m.ByteFallback:
		return bpeTokenizer{}, errors.New("model.byte_fallback: want false, got true: the tokens must be made of bytes, not of characters")
	case m.Dropout != nil && *m.Dropout != 0:
		return bpeTokenizer{}, errors.Errorf("model.dropout: want none, got %g", *m.Dropout)
	case m.Prefix != nil && *m.Prefix != "":
		return bpeTokenizer{}, errors.Errorf("model.continuing_subword_prefix: want none, got %q", *m.Prefix)
	case m.Suffix != nil && *m.Suffix != "":
		return bpeTokenizer{}, errors.Errorf("model.end_of_word_suffix: want none, got %q", *m.Suffix)
	}
	t := bpeTokenizer{bos: bos}
	var err error
	if t.normalize, err = file.Normalizer.normalizer(); err != nil {
		return bpeTokenizer{}, err
	}
	if t.cutters, err = file.PreTokenizer.cutters(); err != nil {
		return bpeTokenizer{}, err
	}
	return t, file.vocabulary(&t)
}
