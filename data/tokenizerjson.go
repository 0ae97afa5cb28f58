package data

import (
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/regular"
)

const (
	maxTokenizerFile = 64 << 20 // limit on the bytes of a tokenizer.json; a vocabulary of 150,000 ids takes 12 MB
	maxTokenizerIDs  = 1 << 20
)

// IsTokenizerFile tells whether NewTokenizer takes a name for the path of a file.
func IsTokenizerFile(name string) bool { return strings.HasSuffix(name, ".json") }

// tokenizerJSON holds the parts of a tokenizer.json that affect how text is encoded.
type tokenizerJSON struct {
	Normalizer   *step         `json:"normalizer"`
	PreTokenizer *preTokenizer `json:"pre_tokenizer"`
	Added        []struct {
		ID      int32  `json:"id"`
		Content string `json:"content"`
		Special bool   `json:"special"`
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

// readTokenizer reads the tokenizer.json of a Hugging Face folder: a byte-level BPE that splits
// text as GPT-2 (possibly with single digits), Llama 3 or Qwen do. BOS is the bos_token_id in the
// config.json or generation_config.json next to it, or the bos_token in tokenizer_config.json, or
// else the token that ends documents there; without such files, its only special token. Special
// tokens written in a text are plain text.
func readTokenizer(path string) (*bpeTokenizer, tokenizerJSON, error) {
	var file tokenizerJSON
	text, err := regular.Read(path, maxTokenizerFile)
	if err != nil {
		return nil, file, err
	}
	sum := sha256.Sum256(text)
	t := bpeTokenizer{name: path, file: sum[:]}
	err = errors.Wrap(json.Unmarshal(text, &file), "want a tokenizer.json of Hugging Face's tokenizers")
	if err == nil {
		t.bos, err = file.readBOS(filepath.Dir(path))
	}
	if err == nil {
		err = file.parse(&t)
	}
	return newBPE(t), file, errors.Wrap(err, path)
}

// specials holds what the files next to a tokenizer.json say about the tokens that begin and end
// documents.
type specials struct {
	BOS      *int32          `json:"bos_token_id"`
	EOS      json.RawMessage `json:"eos_token_id"` // a number or a list
	BOSToken json.RawMessage `json:"bos_token"`    // a text, or an object that contains it
	EOSToken json.RawMessage `json:"eos_token"`
}

// readBOS returns the id with which documents begin, according to the files of a tokenizer's
// folder.
func (file tokenizerJSON) readBOS(folder string) (int32, error) {
	var files []specials
	for _, name := range []string{"config.json", "generation_config.json", "tokenizer_config.json"} {
		text, err := regular.Read(filepath.Join(folder, name), 1<<20)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		var s specials
		if err == nil {
			err = errors.Wrap(json.Unmarshal(text, &s), "want numbers as bos_token_id and eos_token_id")
		}
		if err != nil {
			return 0, errors.Wrap(err, filepath.Join(folder, name))
		}
		files = append(files, s)
	}
	for _, of := range []func(specials, tokenizerJSON) (int32, bool){specials.bos, specials.eos} {
		for _, s := range files {
			if id, ok := of(s, file); ok {
				return id, nil
			}
		}
	}
	if id, one := file.onlySpecial(); one && len(files) == 0 {
		return id, nil
	}
	return 0, errors.Errorf("%s: want a bos_token_id or eos_token_id that begins documents, in config.json, generation_config.json or, as bos_token, in tokenizer_config.json, got none", folder)
}

// onlySpecial returns the id of the special token, if there is exactly one.
func (file tokenizerJSON) onlySpecial() (id int32, one bool) {
	count := 0
	for _, a := range file.Added {
		if a.Special {
			id = a.ID
			count++
		}
	}
	return id, count == 1
}

func (s specials) bos(file tokenizerJSON) (int32, bool) {
	if s.BOS != nil {
		return *s.BOS, true
	}
	return file.idOf(s.BOSToken)
}

func (s specials) eos(file tokenizerJSON) (int32, bool) {
	var one *int32
	var list []int32
	switch {
	case json.Unmarshal(s.EOS, &list) == nil && len(list) > 0:
		return list[0], true
	case json.Unmarshal(s.EOS, &one) == nil && one != nil:
		return *one, true
	}
	return file.idOf(s.EOSToken)
}

// idOf returns the id of an added token, given by its text or by an object that contains it.
func (file tokenizerJSON) idOf(token json.RawMessage) (int32, bool) {
	var text string
	var object struct{ Content string }
	if json.Unmarshal(token, &text) != nil && json.Unmarshal(token, &object) == nil {
		text = object.Content
	}
	for _, a := range file.Added {
		if text != "" && a.Content == text {
			return a.ID, true
		}
	}
	return 0, false
}

// parse fills in a tokenizer whose name and BOS are known.
func (file tokenizerJSON) parse(t *bpeTokenizer) (err error) {
	m := file.Model
	switch {
	case m.Type != "BPE":
		return errors.Errorf("model.type: want BPE, got %q: it is not supported", m.Type)
	case m.ByteFallback:
		return errors.New("model.byte_fallback: want false, got true: the tokens must be made of bytes, not of characters")
	case m.Dropout != nil && *m.Dropout != 0:
		return errors.Errorf("model.dropout: want none, got %g", *m.Dropout)
	case m.Prefix != nil && *m.Prefix != "":
		return errors.Errorf("model.continuing_subword_prefix: want none, got %q", *m.Prefix)
	case m.Suffix != nil && *m.Suffix != "":
		return errors.Errorf("model.end_of_word_suffix: want none, got %q", *m.Suffix)
	}
	if t.normalize, err = file.Normalizer.normalizer(); err != nil {
		return err
	}
	if t.cutters, err = file.PreTokenizer.cutters(); err != nil {
		return err
	}
	return file.vocabulary(t)
}
