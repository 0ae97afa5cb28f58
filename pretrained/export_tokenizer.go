package pretrained

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/internal/regular"
)

// tokenizerFiles holds what a Hugging Face folder says about a tokenizer.
type tokenizerFiles struct {
	files []checkpoint.FolderFile
	bos   any     // an id, or nil
	eos   []int32 // ids that end a text
}

// oneOrAll returns what a config.json has as eos_token_id: an id, a list of several, or nil.
func oneOrAll(ids []int32) any {
	switch len(ids) {
	case 0:
		return nil
	case 1:
		return ids[0]
	}
	return ids
}

// tokenizerFiles returns copies of the files that the tokenizer was read from; or the files that
// data.TokenizerJSON makes; or none, for a model without a tokenizer.
func (m *Model) tokenizerFiles() (tokenizerFiles, error) {
	if m.Data.Tokenizer == "" {
		files := tokenizerFiles{eos: m.Special.EOS}
		if m.Special.BOS != nil {
			files.bos = *m.Special.BOS
		}
		return files, nil
	}
	t, err := m.Tokenizer()
	if err != nil {
		return tokenizerFiles{}, err
	}
	files := tokenizerFiles{bos: t.BOS(), eos: data.EOS(t)}
	if data.IsTokenizerFile(m.Data.Tokenizer) {
		err = files.copy(m.Data.Tokenizer, t)
		if err != nil || slices.ContainsFunc(files.files, func(f checkpoint.FolderFile) bool { return f.Name == tokenizerConfig }) {
			return files, err
		}
	} else {
		text, err := data.TokenizerJSON(t.Name())
		if err != nil {
			return tokenizerFiles{}, err
		}
		files.files = []checkpoint.FolderFile{textFile(tokenizerFile, text)}
	}
	v, err := data.Vocabulary(m.Data.Tokenizer)
	if err != nil {
		return tokenizerFiles{}, err
	}
	c := map[string]any{"bos_token": v.Tokens[t.BOS()], "model_max_length": m.Spec.Seq, "clean_up_tokenization_spaces": false}
	if files.files[0].Name == tokenizerFile {
		c["tokenizer_class"] = "PreTrainedTokenizerFast"
	} else {
		c["add_bos_token"] = data.AddsBOS(t)
	}
	if eos := data.EOS(t); len(eos) > 0 && data.SpecialName(t, eos[0]) != "" {
		c["eos_token"] = data.SpecialName(t, eos[0])
	}
	files.files = append(files.files, jsonFile(tokenizerConfig, c))
	return files, nil
}

// builtIn returns the name of the tokenizer in a file: bytes or gpt2 if the file is the one
// that an export writes for these, otherwise the file's path.
func builtIn(file string, t data.Tokenizer) (string, error) {
	text, err := tokenizerText(file)
	if err != nil {
		return "", err
	}
	for _, name := range data.TokenizerNames() {
		own, err := data.NewTokenizer(name)
		if err != nil {
			return "", err
		}
		if own.Vocab() != t.Vocab() || own.BOS() != t.BOS() || !slices.Equal(data.EOS(own), data.EOS(t)) {
			continue
		}
		if written, err := data.TokenizerJSON(name); err != nil || sameJSON(written, text) {
			return name, err
		}
	}
	return file, nil
}

// tokenizerText returns the text of a tokenizer's file; of a GGUF file the tokenizer.json of its
// keys.
func tokenizerText(path string) ([]byte, error) {
	if data.IsGGUF(path) {
		return data.TokenizerJSON(path)
	}
	return regular.Read(path, maxTokenizerFile)
}

// sameJSON tells whether two texts are the same JSON in any layout: earlier versions wrote a
// tokenizer in another order.
func sameJSON(a, b []byte) bool {
	var values [2]any
	return json.Unmarshal(a, &values[0]) == nil && json.Unmarshal(b, &values[1]) == nil && reflect.DeepEqual(values[0], values[1])
}

// The names of the files with the tokenizer in a Hugging Face folder.
const (
	tokenizerFile   = "tokenizer.json"
	vocabFile       = "vocab.json"
	tokenizerConfig = "tokenizer_config.json"
)

// copy adds the tokenizer.json at path and the tokenizer's other files next to it. reads is the
// tokenizer as the model uses it. If reads puts BOS before a prompt and the files do not say so,
// copy changes its copies so that they do.
func (t *tokenizerFiles) copy(path string, reads data.Tokenizer) error {
	asFiled, err := data.NewTokenizer(path)
	if err != nil {
		return err
	}
	amend := data.AddsBOS(reads) && !data.AddsBOS(asFiled)
	vocab := data.VocabFiles(path)
	names := append(vocab, tokenizerConfig, "special_tokens_map.json", "added_tokens.json")
	if data.IsGGUF(path) {
		names = vocab
	}
	for i, name := range names {
		text, err := tokenizerText(filepath.Join(filepath.Dir(path), name))
		if errors.Is(err, os.ErrNotExist) && i >= len(vocab) {
			continue
		}
		if i == 0 && name != vocabFile {
			name = tokenizerFile
		}
		if err == nil && amend {
			text, err = addingBOS(name, text, reads)
		}
		if err != nil {
			return err
		}
		t.files = append(t.files, textFile(name, text))
	}
	return nil
}

// addingBOS returns the text of a tokenizer's file, changed so that BOS is put before a text.
func addingBOS(name string, text []byte, t data.Tokenizer) ([]byte, error) {
	var c map[string]json.RawMessage
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, errors.Wrap(err, name)
	}
	switch name {
	case tokenizerFile:
		c["post_processor"] = data.TemplateOfBOS(t, c["post_processor"])
	case tokenizerConfig:
		c["add_bos_token"] = json.RawMessage("true")
	default:
		return text, nil
	}
	text, err := json.Marshal(c)
	return text, errors.Wrap(err, name)
}

// maxTokenizerFile bounds the size of a tokenizer's file.
const maxTokenizerFile = 64 << 20
