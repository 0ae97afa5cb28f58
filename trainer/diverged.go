package trainer

import (
	"encoding/json"
	"math"
)

// Diverged tells whether a loss, in nats a token, is that of a run that diverged: not finite, or
// far above Guess.
func Diverged(loss float64, vocab int) bool {
	const far = 1.5
	return !(loss <= far*Guess(vocab))
}

// Guess is the loss of a model that gives each token of a vocabulary the same probability.
func Guess(vocab int) float64 { return math.Log(float64(vocab)) }

// scoreJSON is a Score as JSON, null for what is not finite.
type scoreJSON struct {
	Tokens      int    `json:"tokens"`
	Loss        number `json:"loss"`
	Perplexity  number `json:"perplexity"`
	BitsPerByte number `json:"bits_per_byte"`
}

// MarshalJSON writes the score, null for what is not finite: a diverged model's perplexity.
func (s Score) MarshalJSON() ([]byte, error) {
	return json.Marshal(scoreJSON{s.Tokens, number(s.Loss), number(s.Perplexity), number(s.BitsPerByte)})
}

// UnmarshalJSON reads null as NaN.
func (s *Score) UnmarshalJSON(text []byte) error {
	var read scoreJSON
	err := json.Unmarshal(text, &read)
	*s = Score{read.Tokens, float64(read.Loss), float64(read.Perplexity), float64(read.BitsPerByte)}
	return err
}
