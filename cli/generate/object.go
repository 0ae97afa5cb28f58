package generate

import (
	"strings"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/generate"
)

// object is a sample in the output of -json.
type object struct {
	Sample          int           `json:"sample"`
	Seed            uint64        `json:"seed"`
	Prompt          *string       `json:"prompt,omitempty"` // nil: the model has no tokenizer
	PromptIDs       []int32       `json:"prompt_ids"`
	Text            *string       `json:"text,omitempty"`
	IDs             []int32       `json:"ids"`
	Tokens          int           `json:"tokens"`
	FinishReason    generate.Stop `json:"finish_reason"`
	TokensPerSecond float64       `json:"tokens_per_s"`
	LogProbs        []logProb     `json:"logprobs,omitempty"`
}

// logProb is a token in the output of -json with -logprobs.
type logProb struct {
	ID      int32     `json:"id"`
	Token   string    `json:"token"` // U+FFFD replaces bytes that are not a character
	LogProb float64   `json:"logprob"`
	Top     []logProb `json:"top,omitempty"`
}

func logProbs(tokens []generate.Token) []logProb {
	var all []logProb
	for _, t := range tokens {
		all = append(all, logProb{t.ID, t.Text, t.LogProb, logProbs(t.Top)})
	}
	return all
}

// object writes a sample as a JSON object, when it is complete.
func (s *sampling) object(a sample) (generate.Result, error) {
	var text strings.Builder
	tokens, result, err := a.text.follow(func(piece string) error {
		text.WriteString(piece)
		return nil
	})
	if err != nil {
		return result, err
	}
	o := object{Sample: a.index, Seed: a.request.Seed, PromptIDs: result.PromptIDs, IDs: append([]int32{}, result.IDs...), Tokens: result.Tokens,
		FinishReason: result.Stop, TokensPerSecond: result.TokensPerSecond()}
	if a.request.LogProbs > 0 {
		o.LogProbs = logProbs(tokens)
	}
	if s.tokenizer != nil {
		prompt, continued := a.request.Prompt, text.String()
		if len(a.request.IDs) > 0 { // given, or of a chat
			prompt = data.DecodeText(s.tokenizer, a.request.IDs)
		}
		o.Prompt, o.Text = &prompt, &continued
	}
	return result, s.out.PrintJSON(o)
}
