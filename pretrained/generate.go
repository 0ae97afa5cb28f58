package pretrained

import (
	"context"
	"strings"
	"sync"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/layers"
)

// texts is the generator that Generate makes when it is first called.
type texts struct {
	mu        sync.Mutex
	generator *generate.Generator
}

// Generate continues a prompt and returns the text that comes after it, as options say: how
// many tokens at most (0: as many as the window has room for after the prompt), how they are
// drawn, what ends the text. The zero options always take the likeliest token.
//
// It is safe for several goroutines, whose texts are generated at the same time. Where ctx
// ends, what there is of the text comes with the error. The first call makes a generator on
// all cores of the CPU, which Close ends; Generator makes one with other settings, of which
// token ids and log probabilities can be had, too.
func (m *Model) Generate(ctx context.Context, prompt string, options generate.Request) (string, error) {
	if options.Prompt != "" || len(options.IDs) > 0 {
		return "", layers.Setting("prompt", "want it as an argument, got one in the options")
	}
	options.Prompt = prompt
	g, err := m.texts.start(m)
	if err != nil {
		return "", err
	}
	if options.Tokens == 0 {
		if options.Tokens, err = m.room(g, options); err != nil {
			return "", err
		}
	}
	var text strings.Builder
	_, err = g.Generate(ctx, options, func(p generate.Piece) error {
		text.WriteString(p.Text)
		return nil
	})
	return text.String(), err
}

// room is how many tokens the window has left after a request's prompt, at least 1.
func (m *Model) room(g *generate.Generator, r generate.Request) (int, error) {
	t, err := m.Tokenizer()
	if err != nil {
		return 0, err
	}
	return max(1, g.Window()-len(data.EncodePrompt(t, r.Prompt, r.BOS))), nil
}

// start makes the generator, unless it is there.
func (t *texts) start(m *Model) (*generate.Generator, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var err error
	if t.generator == nil {
		t.generator, err = m.Generator(generate.Options{})
	}
	return t.generator, err
}

// Close ends the generator that Generate has made, after the calls that are under way; later
// ones are refused. A model that has generated nothing needs no Close.
func (m *Model) Close() {
	m.texts.mu.Lock()
	defer m.texts.mu.Unlock()
	if m.texts.generator != nil {
		m.texts.generator.Close()
	}
}
