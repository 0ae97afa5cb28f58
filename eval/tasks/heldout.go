package tasks

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/layers"
)

// HeldOutFile is the file name given to a task that HeldOut makes.
const HeldOutFile = "heldout"

const (
	heldOutDocuments = 500 // unless Options.Limit says otherwise
	heldOutContext   = 64  // bytes of the query of a multiple choice
	heldOutChoice    = 32  // bytes of a choice
	heldOutChoices   = 4
	heldOutTries     = 100 // draws of wrong choices for a document
	heldOutWord      = 4   // fewest letters of a last word
)

// HeldOut makes a task of texts that the models have not read, such as the documents of a
// validation split. At a place in each document, drawn by Options.Seed, it asks:
//
//   - last_word: after 96 bytes, for a word of 4 letters or more that occurs among them, as in
//     LAMBADA (Paperno et al. 2016)
//   - multiple_choice: after 64 bytes, which of four pieces of 32 bytes comes next: the true one,
//     or one of three from other places; all of them begin after a space
//
// Pieces consist of whole characters. HeldOut makes 500 documents, or Options.Limit; it
// returns an error if the texts have too few places.
func HeldOut(ctx context.Context, texts []string, o Options) (*Task, error) {
	t, err := newTask(HeldOutFile, o)
	if err != nil {
		return nil, err
	}
	n := o.Limit
	if n == 0 {
		n = heldOutDocuments
	}
	h := heldOut{texts: texts, draw: rand.New(rand.NewPCG(o.Seed, 5)), seen: map[place]bool{}}
	made := map[string]func() (Document, bool){"multiple_choice": h.choice, "last_word": h.word}[t.format.Name]
	if made == nil {
		return nil, layers.Setting("type", "want multiple_choice or last_word of held-out text, got %s", t.format.Name)
	}
	for tries := 0; len(t.documents) < n; tries++ {
		if tries > 200*n {
			return nil, errors.Errorf("held-out text: want room for %d documents of %s, got %d: choose a smaller limit, or more text", n, t.format.Name,
				len(t.documents))
		}
		if d, ok := made(); ok {
			d.Line = len(t.documents) + 1
			t.documents = append(t.documents, d)
		}
	}
	return t, t.addShots(ctx)
}

type heldOut struct {
	texts []string
	draw  *rand.Rand
	seen  map[place]bool
}

// place is a space in a text, after which something is asked.
type place struct{ text, at int }

// space draws a space in a text, with at least the given numbers of bytes before and after it,
// all of them whole characters; ok is false if this draw found none.
func (h *heldOut) space(before, after int) (text string, p place, ok bool) {
	if len(h.texts) == 0 {
		return "", p, false
	}
	p.text = h.draw.IntN(len(h.texts))
	text = h.texts[p.text]
	room := len(text) - before - after - 1
	if room < 1 {
		return "", p, false
	}
	from := before + h.draw.IntN(room)
	step := strings.IndexByte(text[from:len(text)-after-1], ' ')
	if step < 0 {
		return "", p, false
	}
	p.at = from + step
	around := text[p.at-before : p.at+1+after]
	return text, p, !h.seen[p] && utf8.ValidString(around) && !slices.Contains([]byte(around), 0)
}

// choice makes a multiple choice about what follows a text.
func (h *heldOut) choice() (Document, bool) {
	text, p, ok := h.space(heldOutContext, heldOutChoice)
	if !ok {
		return Document{}, false
	}
	choices := []string{text[p.at+1:][:heldOutChoice]}
	for tries := 0; len(choices) < heldOutChoices; tries++ {
		other, q, ok := h.space(0, heldOutChoice)
		if !ok || tries == heldOutTries { // a text that repeats itself has no other choices
			return Document{}, false
		}
		if wrong := other[q.at+1:][:heldOutChoice]; !slices.Contains(choices, wrong) {
			choices = append(choices, wrong)
		}
	}
	gold := h.draw.IntN(len(choices))
	choices[0], choices[gold] = choices[gold], choices[0]
	h.seen[p] = true
	return choice(text[p.at-heldOutContext:p.at], choices, gold), true
}

var wordPattern = regexp.MustCompile(fmt.Sprintf(`^[A-Za-z]{%d,}`, heldOutWord))

// word makes a document that asks for a word which the text before it contains.
func (h *heldOut) word() (Document, bool) {
	const length = heldOutContext + heldOutChoice
	text, p, ok := h.space(length, heldOutWord)
	if !ok {
		return Document{}, false
	}
	word, context := wordPattern.FindString(text[p.at+1:]), text[p.at-length:p.at]
	known := regexp.MustCompile(`\b` + word + `\b`)
	if word == "" || !known.MatchString(context) {
		return Document{}, false
	}
	h.seen[p] = true
	return Document{Pairs: []Pair{{context, " " + word}}, Solved: context + "  " + word}, true
}
