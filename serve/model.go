package serve

import (
	"context"
	"time"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/generate"
)

// Generator continues prompts; it is called by several goroutines at once. Its emit must not
// be called after it has returned.
type Generator interface {
	Generate(ctx context.Context, r generate.Request, emit func(generate.Piece) error) (generate.Result, error)
}

// Model is one that is served.
type Model struct {
	Name      string // that requests ask for it by
	Generator Generator
	Tokenizer data.Tokenizer // nil: the model reads and writes token ids alone
	Vocab     int            // of the model: token ids are below it
	Window    int            // the most tokens that it reads at a time
	// Slide lets a text go on beyond the window, of which the model then sees the end. Without,
	// a request for more tokens than fit is refused, as by OpenAI.
	Slide bool
	// Parallel is how many texts of one request are generated at a time; 0: one.
	Parallel int
	Created  time.Time // when it was trained or opened
}

// bosName is what the API calls the token that begins and ends a document. A text never holds
// the token itself: the name written in a prompt is plain text.
const bosName = "<|endoftext|>"

// room is how many tokens may follow a prompt of some length, the last of which is not read;
// negative if the prompt itself is too long.
func (m *Model) room(prompt int) int {
	if prompt > m.Window {
		return m.Window - prompt
	}
	return m.Window + 1 - prompt
}
