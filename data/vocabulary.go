package data

import "fmt"

// VocabularyError reports a tokenizer that does not suit a model, because it has more ids.
type VocabularyError struct {
	Tokenizer  string // its name
	IDs, Model int    // number of ids that the tokenizer and the model have
}

// Error names the tokenizer and both sizes.
func (e *VocabularyError) Error() string {
	return fmt.Sprintf("tokenizer %s has %d ids, the model's vocabulary %d: want the tokenizer that the model was trained with", e.Tokenizer, e.IDs, e.Model)
}

// CheckVocabulary returns a *VocabularyError if a tokenizer has ids beyond a model's vocabulary.
func CheckVocabulary(t Tokenizer, vocab int) error {
	if t.Vocab() > vocab {
		return &VocabularyError{t.Name(), t.Vocab(), vocab}
	}
	return nil
}
