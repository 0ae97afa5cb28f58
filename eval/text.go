package eval

import "github.com/residua-go/residua/data"

// Text is what is scored.
type Text struct {
	Tokenizer data.Tokenizer // nil: of Tokens alone, whose text nobody knows
	// Tokens is a stream of documents, each BOS and its text; all but the first are
	// scored.
	Tokens data.Tokens
	// Windows scores only whole windows of the model's training length, as a run does of
	// its validation split; otherwise a shorter last one is scored, too.
	Windows  bool
	Warnings []string // what may make the score mean something else than it seems to
	Notes    []string // how files were read, where that may not be what was meant
}
