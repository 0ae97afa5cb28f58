package serve

import (
	"math"
	"net/http"

	"github.com/residua-go/residua/generate"
)

// answersAtOnce is how many answers of the largest size may be in progress at a time.
const answersAtOnce = 4

// Estimates of the memory that an answer takes until its request ends, in bytes: its tokens, the
// text and the JSON made from them. spellings is the number of bytes for each byte of the
// vocabulary's longest token.
const (
	promptBytes = 16  // for each token of a prompt
	tokenBytes  = 64  // for each token of the answer
	nameBytes   = 200 // for each token that is named among log probabilities
	eventBytes  = 300 // for each event of a stream
	spellings   = 2
)

// reserve reserves memory for an answer, until release is called. It refuses an answer that is too
// large, and any for which there is no room at the moment.
func (s *Server) reserve(bytes float64) (release func(), err error) {
	most := s.options.Answers / answersAtOnce
	if bytes > float64(most) {
		return nil, invalid("", "want an answer of at most %d bytes of memory, got one that may take %.0f: "+
			"ask for fewer texts, tokens or logprobs, or set -max-answers", most, bytes).
			with(http.StatusBadRequest, "answer_too_large")
	}
	weight := int64(math.Ceil(bytes))
	if !s.answers.TryAcquire(weight) {
		return nil, generate.ErrBusy
	}
	return func() { s.answers.Release(weight) }, nil
}

// bytes estimates the memory of a completion's answer, from its numbers of tokens and of
// alternatives to each.
func (c *completion) bytes() float64 {
	spelled := float64(spellings * c.model.longest)
	token, scored := tokenBytes+spelled, 0.0
	if c.request.LogProbs != nil {
		scored = float64(c.texts[0].LogProbs+2) * (nameBytes + spelled) // the alternatives and, twice, the token
	}
	prompt, generated := 0.0, 0.0
	for _, text := range c.texts {
		n := float64(len(text.IDs))
		prompt += n * promptBytes
		if text.Echo {
			prompt += n * token
		}
		if text.PromptLogProbs {
			prompt += n * scored
		}
		generated += float64(text.Tokens)
	}
	if c.request.Stream {
		generated = min(generated, mostUnread)
		token += eventBytes
	}
	return prompt + generated*(token+scored)
}

// longestToken returns the number of bytes of the longest token.
func (m *Model) longestToken() int {
	longest := 0
	if m.Tokenizer == nil {
		return longest
	}
	for id := range min(m.Vocab, m.Tokenizer.Vocab()) {
		longest = max(longest, len(m.Tokenizer.Decode([]int32{int32(id)})))
	}
	return longest
}
