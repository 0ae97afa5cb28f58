package generate

import (
	"fmt"
	"math"

	"github.com/pkg/errors"
)

// Request asks for a text. The zero value asks for none, after an empty prompt.
type Request struct {
	// Prompt is what to continue. The model reads BOS and its tokens, the form in which
	// a document begins in training; of a prompt longer than the window, the end.
	Prompt string
	Echo   bool // emit the prompt, too, before the text that continues it

	Tokens      int     // to generate at most
	Temperature float64 // divides the logits; 0: always the likeliest token
	TopK        int     // draw among the k likeliest tokens; 0: all
	TopP        float64 // draw among the fewest tokens that have this probability together; 0 or 1: all
	Seed        uint64  // of the draws: the same seed gives the same text
}

// Validate tells the first value that nothing can be generated with; the error is a
// *ValueError.
func (r Request) Validate() error {
	switch {
	case r.Tokens < 0:
		return &ValueError{"tokens", fmt.Sprintf("want >= 0, got %d", r.Tokens)}
	case !(r.Temperature >= 0) || math.IsInf(r.Temperature, 0):
		return &ValueError{"temperature", fmt.Sprintf("want >= 0 (0: always the likeliest token), got %g", r.Temperature)}
	case r.TopK < 0:
		return &ValueError{"top-k", fmt.Sprintf("want >= 1, or 0 for no limit, got %d", r.TopK)}
	case !(r.TopP >= 0 && r.TopP <= 1):
		return &ValueError{"top-p", fmt.Sprintf("want above 0 and at most 1 (1: no limit), got %g", r.TopP)}
	}
	return nil
}

// ValueError is a value of a Request that nothing can be generated with.
type ValueError struct{ Value, Problem string }

// Error returns "top-k: want >= 1, or 0 for no limit, got -1".
func (e *ValueError) Error() string { return e.Value + ": " + e.Problem }

// Stop says why a text ended.
type Stop string

// The reasons.
const (
	StopTokens   Stop = "tokens"   // as many as were asked for
	StopDocument Stop = "document" // the model drew BOS: the document ends here
	StopError    Stop = "error"    // cancelled, or failed
)

// Result tells how a text came about.
type Result struct {
	PromptTokens int // BOS included
	Tokens       int // generated, the BOS that ends a document left out
	Stop         Stop
}

// errNotFinite is what a diverged or damaged model gives.
func errNotFinite(token int) error {
	return errors.Errorf("generate: token %d: the model's logits are not finite: its weights have diverged or were damaged; take an earlier checkpoint", token)
}
