package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/residua-go/residua/generate"
)

// logProbs lists the tokens of a choice with their log probabilities, null for the first of a
// prompt.
type logProbs struct {
	Tokens        []string            `json:"tokens"`
	TokenLogProbs []*float64          `json:"token_logprobs"`
	TopLogProbs   []alternativeTokens `json:"top_logprobs"`
	TextOffset    []int               `json:"text_offset"` // in characters, from the start of the choice's text
}

// newLogProbs returns the log probabilities of no tokens: empty arrays instead of null.
func newLogProbs() *logProbs {
	return &logProbs{Tokens: []string{}, TokenLogProbs: []*float64{}, TopLogProbs: []alternativeTokens{}, TextOffset: []int{}}
}

func (l *logProbs) join(later *logProbs) {
	l.Tokens = append(l.Tokens, later.Tokens...)
	l.TokenLogProbs = append(l.TokenLogProbs, later.TokenLogProbs...)
	l.TopLogProbs = append(l.TopLogProbs, later.TopLogProbs...)
	l.TextOffset = append(l.TextOffset, later.TextOffset...)
}

// alternativeTokens are written as {token: log probability}, likeliest first; nil is written as
// null.
type alternativeTokens []generate.Token

// MarshalJSON writes the tokens in their order.
func (a alternativeTokens) MarshalJSON() ([]byte, error) {
	if a == nil {
		return []byte("null"), nil
	}
	var b bytes.Buffer
	for i, t := range a {
		name, err := json.Marshal(tokenName(t))
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(finite(t.LogProb))
		if err != nil {
			return nil, err
		}
		b.WriteByte("{,"[min(i, 1)])
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// finite returns a log probability that JSON can hold: minus infinity becomes vLLM's number for it,
// -9999.
func finite(logProb float64) float64 { return max(logProb, -9999) }

// tokenName returns a token's text or a substitute: bytes:\xe2\x80 for bytes that are not whole
// characters, as OpenAI writes them, and token_id:7 for a token without text, as vLLM writes it.
func tokenName(t generate.Token) string {
	switch {
	case t.Text == "":
		return fmt.Sprintf("token_id:%d", t.ID)
	case utf8.ValidString(t.Text):
		return t.Text
	}
	var b strings.Builder
	b.WriteString("bytes:")
	for _, c := range []byte(t.Text) {
		fmt.Fprintf(&b, `\x%02x`, c)
	}
	return b.String()
}

// offsets counts the characters before each token. The offset of a token that ends inside a
// character is where that character begins.
type offsets struct {
	characters int
	pending    []byte // beginning of a character
}

func (o *offsets) next(text string) int {
	at, before := o.characters, len(o.pending)
	o.pending = append(o.pending, text...)
	for utf8.FullRune(o.pending) {
		_, size := utf8.DecodeRune(o.pending)
		o.pending = o.pending[size:]
		o.characters++
		if before -= size; before >= 0 { // a byte of earlier tokens that begins no character
			at = o.characters
		}
	}
	return at
}
