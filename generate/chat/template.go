package chat

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/regular"
)

// TemplateFile is the file of a template in a model's folder.
const TemplateFile = "chat_template.jinja"

// Template is a model's chat template, with the names of the tokens that it may mention.
type Template struct {
	Text   string
	Tokens map[string]string // bos_token, eos_token and others of tokenizer_config.json
}

// maxConfig bounds the size of a tokenizer_config.json; Gemma 3's has 1.2 MB.
const maxConfig = 64 << 20

// ReadTemplate returns the template in a model's folder, nil if there is none: chat_template.jinja,
// or chat_template in tokenizer_config.json, of several the default.
func ReadTemplate(folder string) (*Template, error) {
	path := filepath.Join(folder, "tokenizer_config.json")
	text, err := regular.Read(path, maxConfig)
	if errors.Is(err, os.ErrNotExist) {
		text, err = []byte("{}"), nil
	}
	var config map[string]json.RawMessage
	if err == nil {
		err = json.Unmarshal(text, &config)
	}
	if err != nil {
		return nil, errors.Wrap(err, path)
	}
	template := &Template{Text: templateOf(config["chat_template"]), Tokens: map[string]string{}}
	alone, err := regular.Read(filepath.Join(folder, TemplateFile), MaxTemplate)
	switch {
	case err == nil:
		template.Text = string(alone)
	case !errors.Is(err, os.ErrNotExist):
		return nil, errors.Wrap(err, filepath.Join(folder, TemplateFile))
	}
	if template.Text == "" {
		return nil, nil
	}
	for _, name := range []string{"bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token"} {
		if token := tokenText(config[name]); token != "" {
			template.Tokens[name] = token
		}
	}
	return template, nil
}

// templateOf reads a chat_template: a text, or a list of named ones.
func templateOf(value json.RawMessage) (text string) {
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	var several []struct{ Name, Template string }
	_ = json.Unmarshal(value, &several) // of another form: there is none
	for _, t := range several {
		if t.Name == "default" {
			return t.Template
		}
	}
	return ""
}

// tokenText reads a token: a text, or an object with its content.
func tokenText(value json.RawMessage) (text string) {
	var token struct{ Content string }
	if json.Unmarshal(value, &text) != nil && json.Unmarshal(value, &token) == nil {
		return token.Content
	}
	return text
}
