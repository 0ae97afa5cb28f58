// Package chat renders conversations by a model's chat template, as transformers'
// apply_chat_template does.
//
// A template is a Jinja program that comes with a model's files. Render runs it in this process,
// which a hostile template can fill with memory or keep busy for ever; a Renderer runs it in a
// process of its own with limits.
package chat

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/nikolalohinski/gonja/v2/builtins"
	"github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/loaders"
	"github.com/pkg/errors"
)

// Limits of what is rendered, in bytes.
const (
	MaxTemplate = 64 << 10
	MaxOutput   = 1 << 20
)

// Request is a conversation to render.
type Request struct {
	Template   string            `json:"template"`
	Messages   json.RawMessage   `json:"messages"`             // a list of objects with role and content
	Tools      json.RawMessage   `json:"tools,omitempty"`      // what the model may call: a list of objects
	Generation bool              `json:"generation,omitempty"` // add_generation_prompt: end with what begins the model's turn
	Tokens     map[string]string `json:"tokens,omitempty"`     // bos_token, eos_token and others that the template may name
	Now        time.Time         `json:"now"`                  // what strftime_now shows
}

// Render returns the text of a conversation. Templates cannot read files: include, import and
// extends find nothing. Errors are the template's or the request's.
func Render(r Request) (text string, err error) {
	defer func() {
		if p := recover(); p != nil { // gonja's, on some expressions
			text, err = "", errors.Errorf("chat template: an expression that is not supported: %v", p)
		}
	}()
	if len(r.Template) > MaxTemplate {
		return "", errors.Errorf("chat template: want at most %d bytes, got %d", MaxTemplate, len(r.Template))
	}
	var o orders
	variables := map[string]any{"add_generation_prompt": r.Generation}
	for name, token := range r.Tokens {
		variables[name] = token
	}
	for name, text := range map[string]json.RawMessage{"messages": r.Messages, "tools": r.Tools} {
		if len(text) == 0 {
			variables[name] = nil
			continue
		}
		value, err := o.read(text)
		if err != nil {
			return "", errors.Wrapf(err, "chat: %s", name)
		}
		variables[name] = value
	}
	settings := config.New()
	settings.TrimBlocks, settings.LeftStripBlocks = true, true
	template, err := exec.NewTemplate(root, settings, alone(conditionals(spaced(r.Template))), environment(&o, r.Now))
	if err != nil {
		return "", complaint(err)
	}
	var out limited
	if err := template.Execute(&out, exec.NewContext(variables)); err != nil {
		return "", complaint(err)
	}
	return out.String(), nil
}

// complaint returns gonja's error in one line: its last part, which says what was wrong.
func complaint(err error) error {
	text := err.Error()
	if i := strings.LastIndex(text, "': "); i >= 0 { // what follows the quoted template
		text = text[i+3:]
	}
	const most = 300
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		text = "... " + text[len(text)-most:]
	}
	return errors.Errorf("chat template: %s", text)
}

// environment returns what a template can use: Jinja's builtins and those that transformers adds.
func environment(o *orders, now time.Time) *exec.Environment {
	filters := exec.NewFilterSet(map[string]exec.FilterFunction{}).Update(builtins.Filters).Update(o.filters())
	methods := builtins.Methods
	methods.Dict, methods.Str = o.methods(), stringMethods()
	return &exec.Environment{
		Context: exec.EmptyContext().Update(builtins.GlobalFunctions).Update(exec.NewContext(map[string]any{
			chooseName: choose,
			"raise_exception": func(_ *exec.Evaluator, args *exec.VarArgs) (string, error) {
				return "", errors.New(args.First().String())
			},
			"strftime_now": func(_ *exec.Evaluator, args *exec.VarArgs) (string, error) {
				return strftime(now, args.First().String()), nil
			},
		})),
		Filters: filters, Tests: builtins.Tests, Methods: methods,
		ControlStructures: controls(),
	}
}

// root names the only template of an alone.
const root = "/template"

// alone is a Loader that has one template and no others.
type alone string

func (a alone) Read(path string) (io.Reader, error) {
	if path != root {
		return nil, errors.Errorf("a chat template stands alone: want no other template, got %q", path)
	}
	return bytes.NewReader([]byte(a)), nil
}

func (a alone) Resolve(path string) (string, error) { return path, nil }

func (a alone) Inherit(string) (loaders.Loader, error) { return a, nil }

// limited collects output up to MaxOutput.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > MaxOutput {
		return 0, errors.Errorf("want at most %d bytes of text, got more", MaxOutput)
	}
	return l.Buffer.Write(p)
}
