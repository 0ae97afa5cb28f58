package eval

import "github.com/residua-go/residua/data"

// Text is a text to score.
type Text struct {
	Tokenizer data.Tokenizer // nil: Tokens are ids whose text is unknown
	// Tokens is a stream of documents, each a BOS followed by its text. All but the first token are
	// scored.
	Tokens data.Tokens
	// Windows makes only whole windows of the model's training length count, as a run does with its
	// validation split. Otherwise the last, shorter window is scored too.
	Windows  bool
	Warnings []string // reasons why the score may not mean what it seems to
	Notes    []string // how files were read, if that may differ from what was meant
}
