package report

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/pretrained"
	"github.com/residua-go/residua/stream"
)

// Model is a trained model that reports are about.
type Model struct {
	Name      string // what a report calls it: its file
	Short     string // its name without a path
	Path      string // of its checkpoint; "": it has none
	Base      string // of the model that its adapters change; "": it has none
	Store     *graph.Store
	Spec      models.Spec
	Tokenizer data.Tokenizer // nil: prompts are token ids
	Zoo       models.Zoo     // whose analyses errors name
	Tokens    int            // largest number in a prompt; 0: as many as the model has positions for
	// Text reads at most the given number of tokens (0: as many as a run evaluates on) of files or,
	// without files, of the text that the model was not trained on. nil: there is no such text.
	Text func(ctx context.Context, files []string, tokens int) ([]int32, error)
	Note func(text string)     // tells what long work is about to do, such as the bytes that it writes; nil: nobody is told
	Done func(done, total int) // tells how far long work has come; nil: nobody is told
}

func (m *Model) done(done, total int) {
	if m.Done != nil {
		m.Done(done, total)
	}
}

// about returns a line that describes the model.
func (m *Model) about() string {
	c, loop := m.Spec, ""
	if c.Depth() > c.Layers {
		loop = fmt.Sprintf(" (%d deep: blocks %d to %d %d times)", c.Depth(), c.LoopBegin, c.LoopEnd-1, c.Loops)
	}
	return fmt.Sprintf("%s: %s stream, %s, %d layers%s of %d heads", m.Name, c.Stream.Name(), strings.Join(models.Sizes(c.Stream), " "), c.Layers, loop,
		c.HeadCount())
}

// run runs the model once on one row of ids and keeps activations, names or globs.
func (m *Model) run(ids []int32, names []string) (*cache.Cache, error) {
	return cache.Once(m.Store, m.Spec, ids, names...)
}

// mixes tells whether the model's stream carries what was written with coefficients that depend on
// a run, instead of only adding to it.
func (m *Model) mixes() bool {
	sketch, err := cache.Sketch(m.Store, m.Spec)
	if err != nil {
		return false
	}
	additive, ok := sketch.Stream().(stream.Additive)
	return ok && len(additive.FreezeHooks()) > 0
}

// text returns a token's text as figures show it, or its id if it has no text.
func (m *Model) text(id int) string {
	switch {
	case m.Tokenizer == nil || id >= m.Tokenizer.Vocab():
		return fmt.Sprint(id)
	case int32(id) == m.Tokenizer.BOS():
		return "BOS"
	}
	return figure.Label(cmp.Or(m.Tokenizer.Decode([]int32{int32(id)}), data.SpecialName(m.Tokenizer, int32(id))))
}

// word returns a token's text with its id.
func (m *Model) word(id int) string {
	if text := m.text(id); text != fmt.Sprint(id) {
		return fmt.Sprintf("%s (id %d)", text, id)
	}
	return fmt.Sprintf("id %d", id)
}

// words returns tokens' positions and texts: "3 ␣func".
func (m *Model) words(ids []int32) []string {
	var words []string
	for i, id := range ids {
		words = append(words, fmt.Sprintf("%d %s", i, m.text(int(id))))
	}
	return words
}

// tokens returns a prompt's tokens as a report lists them.
func (m *Model) tokens(ids []int32) []Token {
	var tokens []Token
	for i, id := range ids {
		tokens = append(tokens, Token{i, int(id), m.text(int(id))})
	}
	return tokens
}

// Of returns a model that was read from a file as a Model for reports: with its tokenizer, if
// it has one, and with the text that it was not trained on. It returns an error if the
// tokenizer cannot be made.
func Of(m *pretrained.Model) (*Model, error) {
	of := &Model{Name: m.Source.ModelPath, Short: m.Source.Name(), Path: m.Source.ModelPath, Store: m.Store, Spec: m.Spec, Zoo: m.Zoo}
	if m.Lora != nil {
		of.Base = m.Lora.Base
	}
	of.Text = func(ctx context.Context, files []string, tokens int) ([]int32, error) {
		text, err := m.LoadText(ctx, pretrained.EvaluateOptions{Data: files, Tokens: tokens})
		if err != nil {
			return nil, err
		}
		return text.Tokens.IDs(), nil
	}
	if m.Data.Tokenizer == "" {
		return of, nil
	}
	tokenizer, err := m.Tokenizer()
	if err != nil {
		return nil, errors.Wrap(err, m.Source.ModelPath)
	}
	of.Tokenizer = tokenizer
	return of, nil
}
