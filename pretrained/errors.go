package pretrained

import (
	"fmt"

	"github.com/pkg/errors"
)

// Errors of this package, wrapped in what says more.
var (
	// ErrNoTokenizer is that of a model that reads token ids alone.
	ErrNoTokenizer = errors.New("the model has no tokenizer")
	// ErrNoCorpus is that of evaluating, without a text, a model that names no corpus.
	ErrNoCorpus = errors.New("the model names no corpus whose validation split could be scored: name a text")
	// ErrOtherModel is that of parameters that are not those of the model that they come with.
	ErrOtherModel = errors.New("the parameters are of another model")
)

// TensorError is a tensor of a file that the model cannot take.
type TensorError struct {
	Name string
	Err  error
}

// Error names the tensor and says what is wrong with it.
func (e *TensorError) Error() string { return fmt.Sprintf("tensor %q: %v", e.Name, e.Err) }

// Unwrap returns what is wrong.
func (e *TensorError) Unwrap() error { return e.Err }

func tensorErrorf(name, format string, args ...any) error {
	return &TensorError{name, errors.Errorf(format, args...)}
}
