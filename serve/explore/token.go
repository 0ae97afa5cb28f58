package explore

import (
	"cmp"
	"fmt"
	"math"
	"unicode/utf8"

	"gonum.org/v1/gonum/floats"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/figure"
)

// Token is a token with the model's probabilities at its position.
type Token struct {
	Position int    `json:"position"`
	ID       int32  `json:"id"`
	Text     string `json:"text"`  // its text, if its bytes are whole characters
	Label    string `json:"label"` // its text with invisible characters made visible
	Prompt   bool   `json:"prompt,omitempty"`
	// Probability is the model's probability of this token at its position; nil for the first,
	// which the model does not predict.
	Probability *float64      `json:"probability"`
	Top         []Alternative `json:"top,omitempty"` // the likeliest tokens at its position
}

// Alternative is a token that the model might have chosen.
type Alternative struct {
	ID          int32   `json:"id"`
	Text        string  `json:"text"`
	Label       string  `json:"label"`
	Probability float64 `json:"probability"`
}

// spell returns a token's text, "" if it is not made of whole characters, and its label, which is
// the id if it has no text.
func (e *Explorer) spell(id int32) (text, label string) {
	switch {
	case e.tokenizer == nil || int(id) >= e.tokenizer.Vocab():
		return "", fmt.Sprint(id)
	case id == e.tokenizer.BOS():
		return "", "BOS"
	}
	text = e.tokenizer.Decode([]int32{id})
	label = figure.Label(cmp.Or(text, data.SpecialName(e.tokenizer, id)))
	if !utf8.ValidString(text) {
		text = ""
	}
	return text, label
}

// alternative returns a token with its probability.
func (e *Explorer) alternative(id int32, probability float64) Alternative {
	text, label := e.spell(id)
	return Alternative{id, text, label, probability}
}

// token returns a token with its probability according to logits [vocab], or without one if logits
// is nil.
func (e *Explorer) token(position int, id int32, logits []float64, top int) Token {
	t := Token{Position: position, ID: id}
	t.Text, t.Label = e.spell(id)
	if logits != nil {
		p := probability(logits, id)
		t.Probability, t.Top = &p, e.alternatives(analysis.Predictions(logits, top))
	}
	return t
}

// probability returns the softmax of logits at a token.
func probability(logits []float64, id int32) float64 {
	return math.Exp(logits[id] - floats.LogSumExp(logits))
}

// alternatives converts the predictions of a lens or a run.
func (e *Explorer) alternatives(predictions []analysis.Prediction) []Alternative {
	var all []Alternative
	for _, p := range predictions {
		all = append(all, e.alternative(int32(p.ID), p.Probability))
	}
	return all
}
