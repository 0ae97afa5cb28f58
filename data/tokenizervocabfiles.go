package data

import (
	"crypto/sha256"
	"encoding/json"
	"hash"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/regular"
)

// The files of a tokenizer without a tokenizer.json.
const (
	vocabFile  = "vocab.json"
	mergesFile = "merges.txt"
	addedFile  = "added_tokens.json"
)

// classDefaults is the key for the special tokens that a class of tokenizers has by default. All
// other keys of that map are names of files.
const classDefaults = ""

// VocabFiles lists the names of the files that hold the tokenizer at path, besides those with
// special tokens: a tokenizer.json alone, or GPT-2's vocab.json and merges.txt.
func VocabFiles(path string) []string {
	if filepath.Base(path) == vocabFile {
		return []string{vocabFile, mergesFile}
	}
	return []string{filepath.Base(path)}
}

// TokenizerFiles lists the names of the files in the folder of a tokenizer's file that affect how
// it reads text and where texts begin and end; only those of VocabFiles must exist.
func TokenizerFiles(path string) []string {
	if IsGGUF(path) {
		return VocabFiles(path)
	}
	return append(VocabFiles(path), modelConfig, generationConfig, tokenizerConfig, specialMap, addedFile)
}

// vocabFiles reads a tokenizer that is stored as GPT-2's was: vocab.json has the ids, merges.txt
// the merges, and the class of tokenizers says how text is cut.
type vocabFiles struct {
	folder string
	sum    hash.Hash // of what was read
}

// read fills in what a tokenizer.json would say.
func (v vocabFiles) read(file *tokenizerJSON) error {
	file.Model.Type = "BPE"
	merges, err := v.text(mergesFile)
	if err == nil {
		err = v.json(vocabFile, &file.Model.Vocab)
	}
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(merges)) {
		if line = strings.TrimRight(line, "\r\n"); line == "" || strings.HasPrefix(line, "#version") {
			continue
		}
		file.Model.Merges = append(file.Model.Merges, quoted(line))
	}
	no := false
	file.PreTokenizer = &preTokenizer{step: step{"ByteLevel"}, PrefixSpace: &no}
	return v.readConfigs(file)
}

// readConfigs reads the class of the tokenizer and the added tokens.
func (v vocabFiles) readConfigs(file *tokenizerJSON) error {
	var model struct {
		Type string `json:"model_type"`
	}
	var c struct {
		Class       string                `json:"tokenizer_class"`
		PrefixSpace bool                  `json:"add_prefix_space"`
		Added       map[string]addedToken `json:"added_tokens_decoder"`
	}
	var byName map[string]int32
	for _, f := range []struct {
		name string
		into any
	}{{modelConfig, &model}, {tokenizerConfig, &c}, {addedFile, &byName}} {
		if err := v.json(f.name, f.into); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	file.PreTokenizer.PrefixSpace = &c.PrefixSpace
	if strings.HasPrefix(c.Class, "Qwen2") || c.Class == "" && strings.HasPrefix(model.Type, "qwen") {
		qwen := preTokenizer{step: step{"Split"}, Behavior: "Isolated"}
		qwen.Pattern.Regex = qwenPattern
		last, no := *file.PreTokenizer, false
		last.UseRegex = &no
		file.Normalizer, file.PreTokenizer = &normalizer{step: step{"NFC"}}, &preTokenizer{step: step{"Sequence"}, Steps: []preTokenizer{qwen, last}}
	}
	for _, key := range slices.Sorted(maps.Keys(c.Added)) {
		id, err := strconv.ParseInt(key, 10, 32)
		if err != nil {
			return errors.Errorf("%s: added_tokens_decoder: want ids as keys, got %q", tokenizerConfig, key)
		}
		a := c.Added[key]
		a.ID = int32(id)
		file.Added = append(file.Added, a)
		delete(byName, a.Content)
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		file.Added = append(file.Added, addedToken{ID: byName[name], Content: name})
	}
	return nil
}

// addNamed adds the tokens that begin and end texts by their names as special ones: GPT-2's is
// <|endoftext|>.
func (file *tokenizerJSON) addNamed(files map[string]specials) {
	files[classDefaults] = specials{BOSToken: quoted(endOfText), EOSToken: quoted(endOfText)}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for _, token := range []json.RawMessage{files[name].BOSToken, files[name].EOSToken} {
			content := tokenText(token)
			id, known := file.Model.Vocab[content]
			if i := slices.IndexFunc(file.Added, func(a addedToken) bool { return a.Content == content }); i >= 0 {
				file.Added[i].Special = true
			} else if known {
				file.Added = append(file.Added, addedToken{ID: id, Content: content, Special: true})
			}
		}
	}
}

// text reads a file of the folder.
func (v vocabFiles) text(name string) ([]byte, error) {
	text, err := regular.Read(filepath.Join(v.folder, name), maxTokenizerFile)
	v.sum.Write(text)
	return text, err
}

// json decodes a file of the folder.
func (v vocabFiles) json(name string, into any) error {
	text, err := v.text(name)
	if err == nil {
		err = errors.Wrap(json.Unmarshal(text, into), name)
	}
	return err
}

// readTokenizerFile reads the file at path, a tokenizer.json, a vocab.json or a GGUF file, and
// returns the sha256 of what it read.
func readTokenizerFile(path string) (file tokenizerJSON, sum []byte, err error) {
	if filepath.Base(path) == vocabFile {
		file.named = true
		v := vocabFiles{filepath.Dir(path), sha256.New()}
		err = v.read(&file)
		return file, v.sum.Sum(nil), err
	}
	var text []byte
	if IsGGUF(path) {
		var said specials
		text, said, err = readGGUFTokenizer(path)
		file.said = map[string]specials{tokenizerConfig: said}
	} else {
		text, err = regular.Read(path, maxTokenizerFile)
	}
	if err != nil {
		return file, nil, err
	}
	whole := sha256.Sum256(text)
	return file, whole[:], errors.Wrap(json.Unmarshal(text, &file), "want a tokenizer.json of Hugging Face's tokenizers")
}
