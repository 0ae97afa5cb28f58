package eval

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/models"
)

// Score is the result of an evaluation.
type Score struct {
	Tokens      int     // number of scored tokens
	Loss        float64 // mean cross-entropy in nats a token, without z-loss
	Perplexity  float64 // exp(Loss)
	BitsPerByte float64 // sum of the losses in bits / bytes of the scored text; NaN if the text is unknown, as for ids without a tokenizer
	Accuracy    float64 // for a Task: share of the answers that have the largest logit
	Chance      float64 // for a Task: accuracy of guessing; 0: not a Task, no Accuracy
}

// AccuracyText returns ", accuracy 0.9932 (chance 0.2500)" for a Task, otherwise "".
func (s Score) AccuracyText() string {
	if s.Chance == 0 {
		return ""
	}
	return fmt.Sprintf(", accuracy %.4f (chance %.4f)", s.Accuracy, s.Chance)
}

// finite returns an error if the score is not finite, which means that the weights have diverged.
func (s Score) finite() error {
	if !Number(s.Loss).Finite() {
		return errors.Wrapf(models.ErrDiverged, "eval: the loss is %g", s.Loss)
	}
	return nil
}

// scoreJSON is a Score as JSON, with null for values that are not finite.
type scoreJSON struct {
	Tokens      int     `json:"tokens"`
	Loss        Number  `json:"loss"`
	Perplexity  Number  `json:"perplexity"`
	BitsPerByte Number  `json:"bits_per_byte"`
	Accuracy    *Number `json:"accuracy,omitempty"` // of a Task, where it may be 0
	Chance      Number  `json:"chance,omitempty"`
}

// MarshalJSON writes {"tokens", "loss", "perplexity", "bits_per_byte"}, and of a Task "accuracy"
// and "chance". Values that are not finite, such as the perplexity of a diverged model, become
// null.
func (s Score) MarshalJSON() ([]byte, error) {
	j := scoreJSON{s.Tokens, Number(s.Loss), Number(s.Perplexity), Number(s.BitsPerByte), nil, Number(s.Chance)}
	if s.Chance > 0 {
		j.Accuracy = (*Number)(&s.Accuracy)
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads null as NaN.
func (s *Score) UnmarshalJSON(text []byte) error {
	var read scoreJSON
	err := json.Unmarshal(text, &read)
	*s = Score{read.Tokens, float64(read.Loss), float64(read.Perplexity), float64(read.BitsPerByte), 0, float64(read.Chance)}
	if read.Accuracy != nil {
		s.Accuracy = float64(*read.Accuracy)
	}
	return err
}

// sum adds up the losses of a text's tokens.
type sum struct {
	tokenizer data.Tokenizer    // nil: the text of the tokens is unknown
	perToken  func(Token) error // if not nil, called with each token
	loss      float64
	read      int   // tokens so far
	tokens    int   // scored tokens; for text these are all
	hits      int   // of these, the ones with the largest logit
	bytes     int64 // bytes of the tokens' text
	chance    float64
}

// add adds the losses of the next tokens; logits [tokens, vocab] are nil for text.
func (s *sum) add(targets []int32, losses, logits []float32) error {
	vocab := len(logits) / len(targets)
	for i, loss := range losses {
		s.read++
		if targets[i] < 0 {
			continue
		}
		s.loss += float64(loss)
		s.tokens++
		if row := logits[i*vocab:][:vocab]; vocab > 0 && slices.Index(row, slices.Max(row)) == int(targets[i]) {
			s.hits++
		}
		if s.perToken == nil {
			continue
		}
		token := Token{Index: s.read, ID: int(targets[i]), Loss: loss}
		if s.tokenizer != nil {
			token.Text = s.tokenizer.Decode(targets[i : i+1])
		}
		if err := s.perToken(token); err != nil {
			return err
		}
	}
	return nil
}

func (s *sum) score() (Score, error) {
	if s.tokens == 0 || s.bytes == 0 && s.tokenizer != nil {
		return Score{}, errors.Errorf("eval: want text to score, got %d tokens with %d bytes of text", s.tokens, s.bytes)
	}
	mean, bits := s.loss/float64(s.tokens), math.NaN()
	if s.tokenizer != nil {
		bits = s.loss / math.Ln2 / float64(s.bytes)
	}
	return Score{Tokens: s.tokens, Loss: mean, Perplexity: math.Exp(mean), BitsPerByte: bits, Accuracy: float64(s.hits) / float64(s.tokens), Chance: s.chance}, nil
}
