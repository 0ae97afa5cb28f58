package pretrained

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/internal/regular"
)

// tokenizerFiles holds what a Hugging Face folder says about a tokenizer.
type tokenizerFiles struct {
	files    []checkpoint.FolderFile
	bos, eos any // ids, or nil
}

// tokenizerFiles returns copies of the files that the tokenizer was read from; or the files that
// data.TokenizerJSON makes; or none, for a model without a tokenizer.
func (m *Model) tokenizerFiles() (tokenizerFiles, error) {
	if m.Data.Tokenizer == "" {
		return tokenizerFiles{}, nil
	}
	t, err := m.Tokenizer()
	if err != nil {
		return tokenizerFiles{}, err
	}
	files := tokenizerFiles{bos: t.BOS(), eos: t.BOS()}
	if data.IsTokenizerFile(m.Data.Tokenizer) {
		if err = files.copy(m.Data.Tokenizer); err != nil || len(files.files) > 1 {
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
	c := map[string]any{"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": v.Tokens[t.BOS()], "eos_token": v.Tokens[t.BOS()],
		"model_max_length": m.Spec.Seq, "clean_up_tokenization_spaces": false}
	files.files = append(files.files, jsonFile("tokenizer_config.json", c))
	return files, nil
}

// builtIn returns the name of the tokenizer in a file: bytes or gpt2 if the file is the one
// that an export writes for these, otherwise the file's path.
func builtIn(file string, t data.Tokenizer) (string, error) {
	text, err := regular.Read(file, maxTokenizerFile)
	if err != nil {
		return "", err
	}
	for _, name := range data.TokenizerNames() {
		own, err := data.NewTokenizer(name)
		if err != nil {
			return "", err
		}
		if own.Vocab() != t.Vocab() || own.BOS() != t.BOS() {
			continue
		}
		if written, err := data.TokenizerJSON(name); err != nil || sameJSON(written, text) {
			return name, err
		}
	}
	return file, nil
}

// sameJSON tells whether two texts are the same JSON in any layout: earlier versions wrote a
// tokenizer in another order.
func sameJSON(a, b []byte) bool {
	var values [2]any
	return json.Unmarshal(a, &values[0]) == nil && json.Unmarshal(b, &values[1]) == nil && reflect.DeepEqual(values[0], values[1])
}

// tokenizerFile is the name of the file with the tokenizer in a Hugging Face folder.
const tokenizerFile = "tokenizer.json"

// copy adds the tokenizer.json at path and the tokenizer's other files next to it, and takes
// the special ids from the config.json there, if there is one.
func (t *tokenizerFiles) copy(path string) error {
	for _, name := range []string{tokenizerFile, "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"} {
		file := filepath.Join(filepath.Dir(path), name)
		if name == tokenizerFile {
			file = path
		}
		text, err := regular.Read(file, maxTokenizerFile)
		if errors.Is(err, os.ErrNotExist) && name != tokenizerFile {
			continue
		}
		if err != nil {
			return err
		}
		t.files = append(t.files, textFile(name, text))
	}
	text, err := regular.Read(filepath.Join(filepath.Dir(path), checkpoint.HuggingFaceConfig), maxHuggingFaceConfig)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var c struct {
		BOS any `json:"bos_token_id"`
		EOS any `json:"eos_token_id"`
	}
	err = json.Unmarshal(text, &c)
	t.bos, t.eos = c.BOS, c.EOS
	return errors.WithStack(err)
}

// maxTokenizerFile bounds the size of a tokenizer's file.
const maxTokenizerFile = 64 << 20
