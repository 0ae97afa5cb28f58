package data

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"
)

const (
	maxTokenizerFile = 64 << 20 // limit on the bytes of a tokenizer.json; a vocabulary of 150,000 ids takes 12 MB
	maxTokenizerIDs  = 1 << 20
)

// IsTokenizerFile tells whether NewTokenizer takes a name for the path of a file.
func IsTokenizerFile(name string) bool { return strings.HasSuffix(name, ".json") || IsGGUF(name) }

// IsGGUF tells whether NewTokenizer takes a name for the path of a GGUF file.
func IsGGUF(name string) bool { return strings.HasSuffix(name, ".gguf") }

// tokenizerJSON holds the parts of a tokenizer.json that affect how text is encoded.
type tokenizerJSON struct {
	Normalizer   *normalizer   `json:"normalizer"`
	PreTokenizer *preTokenizer `json:"pre_tokenizer"`
	After        *postStep     `json:"post_processor"`
	Added        []addedToken  `json:"added_tokens"`
	Model        struct {
		Type         string            `json:"type"`
		Vocab        map[string]int32  `json:"vocab"`
		Merges       []json.RawMessage `json:"merges"` // "a b" or ["a", "b"]
		Dropout      *float64          `json:"dropout"`
		Prefix       *string           `json:"continuing_subword_prefix"`
		Suffix       *string           `json:"end_of_word_suffix"`
		ByteFallback bool              `json:"byte_fallback"`
		IgnoreMerges bool              `json:"ignore_merges"`
	} `json:"model"`

	named bool                // special tokens are known by their names alone, as in a folder with a vocab.json
	said  map[string]specials // what a GGUF file says about special tokens; nil: files of the folder say it
}

// step is a part of a tokenizer.json that has a type.
type step struct {
	Type string `json:"type"`
}

// readTokenizer reads the tokenizer.json of a Hugging Face folder, its vocab.json or a GGUF file: a
// byte-level BPE that splits text as GPT-2 (possibly with single digits), Llama 3, Qwen or o200k
// do, or a BPE of characters that writes spaces as SentencePiece does, and characters that are no
// tokens as tokens for their bytes. readSpecial says which tokens begin and end texts. Special
// tokens written in a text are plain text.
func readTokenizer(path string) (*bpeTokenizer, tokenizerJSON, error) {
	file, sum, err := readTokenizerFile(path)
	t := bpeTokenizer{name: path, file: sum}
	if errors.Is(err, os.ErrNotExist) {
		return nil, file, err // which has the path
	}
	if err == nil {
		err = file.readSpecial(filepath.Dir(path), &t)
	}
	if err == nil {
		err = file.parse(&t)
	}
	return newBPE(t), file, errors.Wrap(err, path)
}

// parse fills in a tokenizer whose name and special tokens are known.
func (file tokenizerJSON) parse(t *bpeTokenizer) (err error) {
	m := file.Model
	switch {
	case m.Type != "BPE":
		return errors.Errorf("model.type: want BPE, got %q: it is not supported", m.Type)
	case m.Dropout != nil && *m.Dropout != 0:
		return errors.Errorf("model.dropout: want none, got %g", *m.Dropout)
	case m.Prefix != nil && *m.Prefix != "":
		return errors.Errorf("model.continuing_subword_prefix: want none, got %q", *m.Prefix)
	case m.Suffix != nil && *m.Suffix != "":
		return errors.Errorf("model.end_of_word_suffix: want none, got %q", *m.Suffix)
	}
	if m.ByteFallback {
		if t.space, err = file.metaspace(); err != nil {
			return err
		}
		return file.characterVocabulary(t)
	}
	if t.nfc, err = file.Normalizer.nfc(); err != nil {
		return err
	}
	if t.cutters, err = file.PreTokenizer.cutters(); err != nil {
		return err
	}
	return file.vocabulary(t)
}
