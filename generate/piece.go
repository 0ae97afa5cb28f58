package generate

import (
	"math"

	"github.com/residua-go/residua/data"
)

// Piece is a part of a text as it is generated. The Text of all pieces joined is the text,
// each valid UTF-8; their Tokens are the Result's IDs, those of a stop string included. The
// prompt that Request.Echo asks for is the first piece, with Request.PromptLogProbs with its
// tokens.
type Piece struct {
	Text string
	// Tokens are those generated since the last piece. The last may have begun a character,
	// or what may become a stop string, whose text comes in a later piece.
	Tokens []Token
	prompt bool // it is the prompt's
}

// Token is a token that was generated, or could have been.
type Token struct {
	ID   int32
	Text string // its bytes, which may be no whole characters; "" for BOS, or where the model has no tokenizer
	// LogProb is ln p(ID) of the model's own distribution, log softmax of its logits l over
	// the whole vocabulary, l_ID - ln sum_j exp l_j: that before temperature, top-p and
	// everything else that a Request changes, as in OpenAI's API and in vLLM. 0 where
	// Request.LogProbs is 0.
	LogProb float64
	Top     []Token // the Request.LogProbs likeliest tokens in its place, likeliest first
}

// newToken returns a token drawn from finite logits [vocab], with the log probabilities of the top
// likeliest; with none, not even its own, where top is 0.
func newToken(id int32, logits []float32, t data.Tokenizer, top int) Token {
	token := Token{ID: id, Text: spell(t, id)}
	if top == 0 {
		return token
	}
	all := make([]candidate, len(logits))
	for i, l := range logits {
		all[i] = candidate{id: int32(i), logit: l}
	}
	var r ranking
	r.rank(all)
	norm := logSumExp(logits)
	token.LogProb = float64(logits[id]) - norm
	for _, c := range r.first(top) {
		token.Top = append(token.Top, Token{ID: c.id, Text: spell(t, c.id), LogProb: float64(c.logit) - norm})
	}
	return token
}

// spell returns the bytes of a token.
func spell(t data.Tokenizer, id int32) string {
	if t == nil || int(id) >= t.Vocab() {
		return ""
	}
	return t.Decode([]int32{id})
}

// logSumExp is ln sum_j exp l_j.
func logSumExp(logits []float32) float64 {
	largest := float64(logits[0])
	for _, l := range logits {
		largest = max(largest, float64(l))
	}
	sum := 0.0
	for _, l := range logits {
		sum += math.Exp(float64(l) - largest)
	}
	return largest + math.Log(sum)
}
