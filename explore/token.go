package explore

import (
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/residua-go/residua/figure"
)

// Token is a token with what the model said of it.
type Token struct {
	Position int    `json:"position"`
	ID       int32  `json:"id"`
	Text     string `json:"text"`  // its bytes, where they are whole characters
	Label    string `json:"label"` // its text with what is invisible made visible
	Prompt   bool   `json:"prompt,omitempty"`
	// Probability is the model's for this token at its place; nil for the first, of which it says nothing.
	Probability *float64      `json:"probability"`
	Top         []Alternative `json:"top,omitempty"` // the likeliest tokens in its place
}

// Alternative is a token that could stand in a place.
type Alternative struct {
	ID          int32   `json:"id"`
	Text        string  `json:"text"`
	Label       string  `json:"label"`
	Probability float64 `json:"probability"`
}

// spell is a token's text, "" where it is no whole characters, and its label: its id where it has no text.
func (e *Explorer) spell(id int32) (text, label string) {
	switch {
	case e.tokenizer == nil || int(id) >= e.tokenizer.Vocab():
		return "", fmt.Sprint(id)
	case id == e.tokenizer.BOS():
		return "", "BOS"
	}
	text = e.tokenizer.Decode([]int32{id})
	label = figure.Label(text)
	if !utf8.ValidString(text) {
		text = ""
	}
	return text, label
}

// token is a token of which logits [vocab] told the probability; nil: none.
func (e *Explorer) token(position int, id int32, logits []float64, top int) Token {
	t := Token{Position: position, ID: id}
	t.Text, t.Label = e.spell(id)
	if logits != nil {
		p := softmax(logits)
		t.Probability = &p[id]
		t.Top = e.likeliest(p, top)
	}
	return t
}

// likeliest are the n likeliest tokens, likeliest first.
func (e *Explorer) likeliest(probabilities []float64, n int) []Alternative {
	var top []Alternative
	for id, p := range probabilities {
		at := len(top)
		for at > 0 && p > top[at-1].Probability {
			at--
		}
		if at < n {
			top = slices.Insert(top, at, Alternative{ID: int32(id), Probability: p})
			top = top[:min(n, len(top))]
		}
	}
	for i := range top {
		top[i].Text, top[i].Label = e.spell(top[i].ID)
	}
	return top
}

// softmax is exp l_i / sum_j exp l_j of finite logits.
func softmax(logits []float64) []float64 {
	largest := math.Inf(-1)
	for _, l := range logits {
		largest = max(largest, l)
	}
	p, sum := make([]float64, len(logits)), 0.0
	for i, l := range logits {
		p[i] = math.Exp(l - largest)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}
