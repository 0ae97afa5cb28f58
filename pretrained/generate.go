package pretrained

import (
	"context"
	"strings"
	"sync"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/layers"
)

// texts holds the generator that Generate makes at its first call.
type texts struct {
	mu        sync.Mutex
	generator *generate.Generator
}

// Generate continues a prompt and returns the text after it. The options say how many tokens at
// most (0: as many as the window has room for after the prompt), how they are drawn, and what ends
// the text. The zero options always take the likeliest token.
//
// Several goroutines may call it at the same time; their texts are generated together. If ctx ends,
// the text generated until then is returned with the error. The first call makes a generator on all
// cores of the CPU, which Close ends. Generator makes one with other settings, which can also
// return token ids and log probabilities.
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

// room returns how many tokens the window has left after a request's prompt, at least 1.
func (m *Model) room(g *generate.Generator, r generate.Request) (int, error) {
	t, err := m.Tokenizer()
	if err != nil {
		return 0, err
	}
	return max(1, g.Window()-len(data.EncodePrompt(t, r.Prompt, r.BOS))), nil
}

// start makes the generator at the first call.
func (t *texts) start(m *Model) (*generate.Generator, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var err error
	if t.generator == nil {
		t.generator, err = m.Generator(generate.Options{})
	}
	return t.generator, err
}

// Close ends the generator that Generate has made, after the running calls; later calls are
// refused. A model that has generated nothing need not be closed.
func (m *Model) Close() {
	m.texts.mu.Lock()
	defer m.texts.mu.Unlock()
	if m.texts.generator != nil {
		m.texts.generator.Close()
	}
}
