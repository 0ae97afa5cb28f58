package report

import (
	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models/cache"
)

// answerShown is the number of likeliest tokens that are listed.
const answerShown = 6

// Answer holds what the model says after a token.
type Answer struct {
	Token     int           `json:"token"`     // position
	Likeliest []AnswerToken `json:"likeliest"` // likeliest first, then the target and the token compared with if they are not among them
	title     string
}

// AnswerToken is a token with its probability.
type AnswerToken struct {
	analysis.Prediction
	Text string `json:"text"`
}

// answer returns what the model says, in a run, after the token of a.
func (m *Model) answer(run *cache.Cache, a aim) *Answer {
	logits, _ := run.TokenLogits(a.token) // no error: find has checked the token
	asked := []int{a.target}
	if a.against >= 0 {
		asked = append(asked, a.against)
	}
	answer := &Answer{Token: a.token, title: "likeliest tokens" + m.after(a.token, run.IDs)}
	for _, p := range analysis.Predictions(logits, answerShown, asked...) {
		answer.Likeliest = append(answer.Likeliest, AnswerToken{p, m.text(p.ID)})
	}
	return answer
}

// Table lists the tokens.
func (a *Answer) Table() figure.Table {
	t := figure.NewTable(a.title, "lrr", "token", "id", "probability")
	for _, p := range a.Likeliest {
		t.Row(p.Text, p.ID, p.Probability)
	}
	return t
}

// Figures are the probabilities.
func (a *Answer) Figures() []figure.Figure {
	b := figure.Bars{Title: a.title, YLabel: "probability"}
	for _, p := range a.Likeliest {
		b.Add(p.Text, p.Probability)
	}
	return []figure.Figure{b}
}
