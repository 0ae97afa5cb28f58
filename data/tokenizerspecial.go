package data

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/regular"
)

// The files of a Hugging Face folder that name special tokens.
const (
	modelConfig      = "config.json"
	generationConfig = "generation_config.json"
	tokenizerConfig  = "tokenizer_config.json"
	specialMap       = "special_tokens_map.json"
)

// specials holds what one of those files says about the tokens that begin and end texts.
type specials struct {
	BOS      *int32          `json:"bos_token_id"`
	EOS      idList          `json:"eos_token_id"`
	Pad      *int32          `json:"pad_token_id"`
	BOSToken json.RawMessage `json:"bos_token"` // a text, or an object that contains it
	EOSToken json.RawMessage `json:"eos_token"`
	AddBOS   *bool           `json:"add_bos_token"`
}

// idList is written as one id, a list of ids or null. Ids below 0, which no token has, are left
// out.
type idList []int32

// UnmarshalJSON reads an id or a list.
func (l *idList) UnmarshalJSON(text []byte) error {
	var one int32
	if json.Unmarshal(text, &one) == nil {
		*l = idList{one}
		if string(text) == "null" {
			*l = nil
		}
	} else if err := json.Unmarshal(text, (*[]int32)(l)); err != nil {
		return err
	}
	*l = slices.DeleteFunc(*l, func(id int32) bool { return id < 0 })
	return nil
}

// readSpecials reads the files of a folder that name special tokens; a missing file says nothing.
func readSpecials(folder string) (files map[string]specials, err error) {
	files = map[string]specials{}
	for _, name := range []string{modelConfig, generationConfig, tokenizerConfig, specialMap} {
		text, err := regular.Read(filepath.Join(folder, name), maxTokenizerFile)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		var s specials
		if err == nil {
			err = errors.Wrap(json.Unmarshal(text, &s), "want numbers as bos_token_id and eos_token_id, or a list of them as eos_token_id")
		}
		if err != nil {
			return nil, errors.Wrap(err, filepath.Join(folder, name))
		}
		if name != specialMap || s.BOSToken != nil || s.EOSToken != nil {
			files[name] = s
		}
	}
	return files, nil
}

// SpecialIDs are the tokens that begin and end texts of a model that may have no tokenizer, and the
// token with which other programs pad rows.
type SpecialIDs struct {
	BOS *int32  `json:"bos,omitempty"` // nil: none is known
	EOS []int32 `json:"eos,omitempty"`
	Pad *int32  `json:"pad,omitempty"`
}

// ReadSpecialIDs returns the ids that the files of a model's Hugging Face folder give.
func ReadSpecialIDs(folder string) (SpecialIDs, error) {
	files, err := readSpecials(folder)
	if err != nil {
		return SpecialIDs{}, err
	}
	var file tokenizerJSON
	ids := SpecialIDs{EOS: file.eos(files, generationConfig, modelConfig)}
	for _, name := range []string{generationConfig, modelConfig} {
		ids.BOS, ids.Pad = cmp.Or(files[name].BOS, ids.BOS), cmp.Or(files[name].Pad, ids.Pad)
	}
	return ids, nil
}

// readSpecial fills in a tokenizer's BOS, EOS and whether it adds BOS to a prompt, as the files
// next to the tokenizer.json say.
//
// BOS is the bos_token_id of config.json or generation_config.json, the bos_token of
// tokenizer_config.json, or else the first token that ends texts; without such files, the only
// special token. EOS is the eos_token_id of generation_config.json, as in transformers, or else of
// config.json, or the eos_token of tokenizer_config.json; or else BOS. BOS is added if
// tokenizer_config.json has add_bos_token true, or, without that key, if the tokenizer.json puts
// BOS before a text.
func (file *tokenizerJSON) readSpecial(folder string, t *bpeTokenizer) error {
	files, err := file.said, error(nil)
	if files == nil {
		files, err = readSpecials(folder)
	}
	if err != nil {
		return err
	}
	if file.named {
		file.addNamed(files)
	}
	t.eos = file.eos(files, generationConfig, modelConfig, tokenizerConfig, specialMap, classDefaults)
	bos, ok := file.bos(files)
	if !ok {
		return errors.Errorf("%s: want a bos_token_id or eos_token_id that begins documents, in config.json, generation_config.json or, as bos_token, "+
			"in tokenizer_config.json, got none", folder)
	}
	if t.bos = bos; len(t.eos) == 0 {
		t.eos = []int32{bos}
	}
	if t.addBOS = file.After.begins(file.Added, bos); files[tokenizerConfig].AddBOS != nil {
		t.addBOS = *files[tokenizerConfig].AddBOS
	}
	return nil
}

// eos returns the ids of the first of the named files that gives any.
func (file tokenizerJSON) eos(files map[string]specials, names ...string) []int32 {
	for _, name := range names {
		if ids := files[name].EOS; len(ids) > 0 {
			return ids
		}
		if id, ok := file.idOf(files[name].EOSToken); ok {
			return []int32{id}
		}
	}
	return nil
}

// bos returns the id with which documents begin.
func (file tokenizerJSON) bos(files map[string]specials) (int32, bool) {
	order := []string{modelConfig, generationConfig, tokenizerConfig, specialMap, classDefaults}
	for _, name := range order {
		if id := files[name].BOS; id != nil && (!file.named || file.adds(*id)) {
			return *id, true
		}
		if id, ok := file.idOf(files[name].BOSToken); ok {
			return id, true
		}
	}
	if ids := file.eos(files, order...); len(ids) > 0 {
		return ids[0], true
	}
	id, one := file.onlySpecial()
	return id, one && len(files) == 0
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

// idOf returns the id of an added token, given by its text or by an object that contains it.
func (file tokenizerJSON) idOf(token json.RawMessage) (int32, bool) {
	text := tokenText(token)
	for _, a := range file.Added {
		if text != "" && a.Content == text {
			return a.ID, true
		}
	}
	return 0, false
}

// tokenText returns the text of a token, which is written as a text or as an object that contains
// it.
func tokenText(token json.RawMessage) string {
	var text string
	var object struct{ Content string }
	if json.Unmarshal(token, &text) != nil && json.Unmarshal(token, &object) == nil {
		text = object.Content
	}
	return text
}

// adds tells whether there is an added token with that id.
func (file tokenizerJSON) adds(id int32) bool {
	return slices.ContainsFunc(file.Added, func(a addedToken) bool { return a.ID == id })
}

// postStep is the part of a tokenizer.json that says which tokens it adds to a text.
type postStep struct {
	step
	Steps  []postStep `json:"processors"` // of a Sequence
	Single []struct {
		Special *struct {
			ID string `json:"id"`
		} `json:"SpecialToken"`
	} `json:"single"` // of a TemplateProcessing, in order
	Class []any `json:"cls"` // of BERT's and RoBERTa's: the text and the id of the token before a text
}

// begins tells whether the token with an id is put before a text.
func (p *postStep) begins(added []addedToken, id int32) bool {
	if p == nil {
		return false
	}
	if p.Type == "TemplateProcessing" && len(p.Single) > 0 && p.Single[0].Special != nil {
		content := p.Single[0].Special.ID
		return slices.ContainsFunc(added, func(a addedToken) bool { return a.ID == id && a.Content == content })
	}
	if len(p.Class) == 2 && p.Class[1] == float64(id) {
		return true
	}
	return slices.ContainsFunc(p.Steps, func(s postStep) bool { return s.begins(added, id) })
}
