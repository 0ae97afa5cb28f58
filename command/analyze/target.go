package analyze

import (
	"flag"
	"fmt"
	"strconv"
	"strings"

	"github.com/pkg/errors"
	"gonum.org/v1/gonum/floats"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/analysis/cache"
)

// target is the flags that choose a position and what is said there: a logit, or a
// difference of two.
type target struct {
	token           index
	target, against text
}

// last is the index of the last entry.
const last = -1

// index is a flag that chooses an entry; below 0 it counts from the end.
type index struct {
	value int
	given bool
}

// String shows the value.
func (i *index) String() string { return strconv.Itoa(i.value) }

// Get returns the value.
func (i *index) Get() any { return i.value }

// Set reads the value.
func (i *index) Set(value string) (err error) {
	i.given = true
	i.value, err = strconv.Atoi(value)
	return err
}

func (t *target) flags(flags *flag.FlagSet) {
	t.token.value = last
	flags.Var(&t.token, "token", "look at the model's answer behind token `N`, from 0; below 0: from the end")
	flags.Var(&t.target, "target", "look at the logit of token `T`: a text, or an id; without, the likeliest")
}

// againstFlag declares -against for the commands that compare.
func (t *target) againstFlag(flags *flag.FlagSet) {
	flags.Var(&t.against, "against", "take off the logit of token `T`: a text, or an id")
}

// aim is a target that has been found.
type aim struct {
	token, target, against int    // against -1: none
	what                   string // in words: "␣b (id 290) behind token 7 (+)"
}

// title names the number that is looked at.
func (a aim) title() string { return "logit of " + a.what }

// metric is that number, of any run.
func (a aim) metric() analysis.Metric { return analysis.LogitOf(a.token, a.target, a.against) }

// find reads the flags; run is the model's run on the prompt.
func (t *target) find(s *subject, run *cache.Cache) (aim, error) {
	a := aim{against: -1}
	var err error
	if a.token, err = position("-token", t.token.value, run.Tokens()); err != nil {
		return a, err
	}
	logits, err := run.TokenLogits(a.token)
	if err != nil {
		return a, err
	}
	a.target = floats.MaxIdx(logits)
	if t.target.given {
		if a.target, err = s.readToken("-target", t.target.value); err != nil {
			return a, err
		}
	}
	if t.against.given {
		if a.against, err = s.readToken("-against", t.against.value); err != nil {
			return a, err
		}
		if a.against == a.target {
			return a, errors.Errorf("-against: want another token than the target, got %s for both", s.word(a.target))
		}
	}
	a.what = s.describe(a, run.IDs)
	return a, nil
}

func (s *subject) describe(a aim, ids []int32) string {
	what := s.word(a.target)
	if a.against >= 0 {
		what += " less that of " + s.word(a.against)
	}
	what += fmt.Sprintf(" behind token %d", a.token)
	if s.tokenizer != nil {
		what += fmt.Sprintf(" (%s)", s.text(int(ids[a.token])))
	}
	return what
}

// readToken reads a flag's token: a whole number is an id, anything else a text, which may
// stand in Go's double quotes.
func (s *subject) readToken(name, value string) (int, error) {
	if id, err := strconv.Atoi(value); err == nil {
		if id < 0 || id >= s.Spec.Vocab {
			return 0, errors.Errorf("%s: want an id of 0 to %d, got %d", name, s.Spec.Vocab-1, id)
		}
		return id, nil
	}
	if s.tokenizer == nil {
		return 0, errors.Errorf("%s: the model has no tokenizer: want an id of 0 to %d, got %q", name, s.Spec.Vocab-1, value)
	}
	word := value
	if unquoted, err := strconv.Unquote(value); err == nil && strings.HasPrefix(value, `"`) {
		word = unquoted
	}
	ids, err := s.readText(name, word, false, 1)
	if err != nil {
		return 0, err
	}
	if len(ids) > 1 {
		return 0, errors.Errorf("%s: want one token, got %q of %d, ids %s: choose one of them", name, word, len(ids), list(ids))
	}
	return int(ids[0]), nil
}

// list writes ids as a flag takes them.
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

// position is an index into n entries; below 0 it counts from the end.
func position(name string, i, n int) (int, error) {
	if i < -n || i >= n {
		return 0, errors.Errorf("%s: want 0 to %d, or -1 to -%d from the end, got %d", name, n-1, n, i)
	}
	if i < 0 {
		i += n
	}
	return i, nil
}
