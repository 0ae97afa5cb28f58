package eval

import "github.com/residua-go/residua/data"

// Text is a text to score.
type Text struct {
	Tokenizer data.Tokenizer // nil: Tokens are ids whose text is unknown
	// Tokens is a stream of documents, each a BOS followed by its text. All but the first token are
	// scored.
	Tokens data.Tokens
	// Windows restricts the scoring to whole windows of the model's training length, as a run
	// does with its validation split. Otherwise the last, shorter window is scored, too.
	Windows  bool
	Warnings []string // reasons why the score may be misleading
	Notes    []string // how files were read, where that may differ from what the user expects
}
