package generate

import (
	"math"

	"github.com/residua-go/residua/data"
)

// Piece is a part of a text as it is generated. The pieces' Text is valid UTF-8 and joins to the
// whole text; their Tokens join to the Result's IDs, including those of a stop string. With
// Request.Echo the prompt is the first piece; it has its tokens with Request.PromptLogProbs.
type Piece struct {
	Text string
	// Tokens are those that begin in Text. The last of them may also have text that comes in a
	// later piece, because it ends inside a character or a possible stop string. Tokens of a stop
	// string are in a last piece without text.
	Tokens []Token
	prompt bool // the piece is the prompt
}

// Token is a token that was generated, or that could have been.
type Token struct {
	ID   int32
	Text string // bytes of the token, which may be only part of a character; "" for a special token, or if the model has no tokenizer
	// LogProb is the log probability ln p(ID) by the model's own distribution: log softmax of its
	// logits l over the whole vocabulary, l_ID - ln sum_j exp l_j, before temperature, top-p and
	// everything else that a Request changes, as in OpenAI's API and in vLLM. It is 0 if
	// Request.LogProbs is 0.
	LogProb float64
	Top     []Token // the Request.LogProbs likeliest tokens at this position, likeliest first
}

// newToken returns a token drawn from finite logits [vocab], with the log probabilities of itself
// and of the top likeliest tokens; with top 0 it has none of these.
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

// logSumExp returns ln sum_j exp l_j.
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
