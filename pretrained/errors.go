package pretrained

import (
	"fmt"

	"github.com/pkg/errors"
)

// The errors of this package, which are wrapped with details.
var (
	// ErrNoTokenizer is the error for text given to a model that only reads token ids.
	ErrNoTokenizer = errors.New("the model has no tokenizer")
	// ErrNoCorpus is the error of Evaluate, called without a text, if the model names no corpus.
	ErrNoCorpus = errors.New("the model names no corpus whose validation split could be scored: name a text")
	// ErrOtherModel is the error for parameters that do not fit the model for which they are
	// given.
	ErrOtherModel = errors.New("the parameters are of another model")
)

// TensorError is the error for a tensor in a file that the model cannot use.
type TensorError struct {
	Name string
	Err  error
}

// Error names the tensor and says what is wrong with it.
func (e *TensorError) Error() string { return fmt.Sprintf("tensor %q: %v", e.Name, e.Err) }

// Unwrap returns the underlying error.
func (e *TensorError) Unwrap() error { return e.Err }

func tensorErrorf(name, format string, args ...any) error {
	return &TensorError{name, errors.Errorf(format, args...)}
}
