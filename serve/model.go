package serve

import (
	"context"
	"time"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/generate"
)

// Generator continues prompts. Several goroutines may call it at once. It must not call emit after
// it has returned.
type Generator interface {
	Generate(ctx context.Context, r generate.Request, emit func(generate.Piece) error) (generate.Result, error)
}

// Model is a model that the server answers with.
type Model struct {
	Name      string // the name by which requests choose it
	Generator Generator
	Tokenizer data.Tokenizer // nil: the model reads and writes token ids alone
	Vocab     int            // size of the vocabulary: token ids are below it
	Window    int            // the largest number of tokens that it reads at a time
	// Slide lets a text continue beyond the window; the model then sees its end only. Without it, a
	// request for more tokens than fit is refused, as by OpenAI.
	Slide bool
	// Parallel is how many texts of one request are generated at a time; 0: one.
	Parallel int
	// Chat turns a conversation into a prompt; nil: the model has no chat template.
	Chat    Chat
	Created time.Time // when it was trained or opened
	longest int       // bytes of the longest token
}

// room returns how many tokens may follow a prompt of the given length; the last of them is not
// read. It is negative if the prompt itself is too long.
func (m *Model) room(prompt int) int {
	if prompt > m.Window {
		return m.Window - prompt
	}
	return m.Window + 1 - prompt
}
