package report

import (
	"fmt"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
)

// Target is a position and a logit there.
type Target struct {
	Token  *int   `yaml:"token" help:"look at the model's answer after token <N>, from 0; below 0: from the end; without, after the last"`
	Target string `yaml:"target" help:"look at the logit of token <T>: a text, or an id; without, the likeliest"`
}

// Contrast is a Target, or the difference between its logit and another one.
type Contrast struct {
	Target
	Against string `yaml:"against" help:"subtract the logit of token <T>: a text, or an id"`
}

// given tells whether anything is chosen.
func (t Contrast) given() bool { return t != Contrast{} }

// fixed returns an error unless the target is set, so that it is the same in every model.
func (t Contrast) fixed() error {
	if t.Target.Target == "" {
		return check.Value("target", "the token whose logit is followed over training", "none")
	}
	return nil
}

// aim is a target whose token and ids have been found.
type aim struct {
	token, target, against int    // against -1: none
	what                   string // in words: "␣b (id 290) after token 7 (+)"
}

// metric returns the target's logit or difference as a Metric, named by the texts of the tokens.
func (a aim) metric() analysis.Metric {
	m := analysis.LogitOf(a.token, a.target, a.against)
	m.Name = "logit of " + a.what
	return m
}

// find resolves the token and the ids in a prompt; run is the model's run on it.
func (t Contrast) find(m *Model, run *cache.Cache) (aim, error) {
	a := aim{against: -1}
	var err error
	if a.token, err = index("token", t.Token, run.Tokens(), run.Tokens()-1); err != nil {
		return a, err
	}
	logits, _ := run.TokenLogits(a.token)
	a.target = floats.MaxIdx(logits)
	if t.Target.Target != "" {
		if a.target, err = m.token("target", t.Target.Target); err != nil {
			return a, err
		}
	}
	if t.Against != "" {
		if a.against, err = m.token("against", t.Against); err != nil {
			return a, err
		}
		if a.against == a.target {
			return a, check.Value("against", "another token than the target", m.word(a.target)+" for both")
		}
	}
	a.what = m.describe(a, run.IDs)
	return a, nil
}

func (m *Model) describe(a aim, ids []int32) string {
	what := m.word(a.target)
	if a.against >= 0 {
		what += " minus that of " + m.word(a.against)
	}
	return what + m.after(a.token, ids)
}

// after describes a place in a prompt: " after token 7 (+)".
func (m *Model) after(token int, ids []int32) string {
	place := fmt.Sprintf(" after token %d", token)
	if m.Tokenizer != nil {
		place += fmt.Sprintf(" (%s)", m.text(int(ids[token])))
	}
	return place
}

// token reads an option's token: a whole number is an id, anything else is a text, which may be in
// Go's double quotes.
func (m *Model) token(name, value string) (int, error) {
	if id, err := strconv.Atoi(value); err == nil {
		return id, check.Index(name, id, m.Spec.Vocab)
	}
	word := value
	if unquoted, err := strconv.Unquote(value); err == nil && strings.HasPrefix(value, `"`) {
		word = unquoted
	}
	ids, err := m.encode(name, word, new(bool), 1)
	if err != nil {
		return 0, err
	}
	if len(ids) > 1 {
		return 0, check.Value(name, "one token", fmt.Sprintf("%q of %d, ids %s: choose one of them", word, len(ids), list(ids)))
	}
	return int(ids[0]), nil
}

// list writes ids as they are read.
func list(ids []int32) string {
	const shown = 12
	var words []string
	for _, id := range ids[:min(shown, len(ids))] {
		words = append(words, strconv.Itoa(int(id)))
	}
	if len(ids) > shown {
		words = append(words, "…")
	}
	return strings.Join(words, ",")
}
