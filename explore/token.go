package explore

import (
	"fmt"
	"math"
	"unicode/utf8"

	"gonum.org/v1/gonum/floats"

	"github.com/residua-go/residua/analysis"
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

// alternative is a token with its probability.
func (e *Explorer) alternative(id int32, probability float64) Alternative {
	text, label := e.spell(id)
	return Alternative{id, text, label, probability}
}

// token is a token of which logits [vocab] told the probability; nil: none.
func (e *Explorer) token(position int, id int32, logits []float64, top int) Token {
	t := Token{Position: position, ID: id}
	t.Text, t.Label = e.spell(id)
	if logits != nil {
		p := probability(logits, id)
		t.Probability, t.Top = &p, e.alternatives(analysis.Predictions(logits, top))
	}
	return t
}

// probability is what logits say of a token.
func probability(logits []float64, id int32) float64 {
	return math.Exp(logits[id] - floats.LogSumExp(logits))
}

// alternatives are tokens as a lens or a run predicts them.
func (e *Explorer) alternatives(predictions []analysis.Prediction) []Alternative {
	var all []Alternative
	for _, p := range predictions {
		all = append(all, e.alternative(int32(p.ID), p.Probability))
	}
	return all
}
