package eval

import (
	"cmp"
	"math"
	"slices"

	"github.com/residua-go/residua/layers"
)

// Groupings for Tally.Groups.
const (
	ByPosition = "position" // position in the window, from 1: how much context a token had
	ByToken    = "token"    // the token's id
	ByDocument = "document" // number of the document, from 1; its end (the next document's BOS) is part of it
)

// Tally sums the losses of a text's scored tokens by window, position, token and document. Pass its
// Add as Options.PerToken:
//
//	tally := eval.NewTally(text, spec.Seq)
//	score, err := eval.Evaluate(ctx, store, spec, text, eval.Options{PerToken: tally.Add})
type Tally struct {
	text                                  *Text
	seq                                   int
	windows, positions, tokens, documents []part // sums by window, position, id and document
	starts                                []int  // for each document, the index of its first token of text
	read                                  int    // number of tokens that have been searched for starts
}

// part holds the sums over some tokens.
type part struct {
	tokens        int
	loss, squares float64
	bytes         int64
}

func (p *part) add(loss float64, bytes int) {
	p.tokens++
	p.loss += loss
	p.squares += loss * loss
	p.bytes += int64(bytes)
}

// NewTally returns a Tally for a text that is scored in windows of seq tokens.
func NewTally(text *Text, seq int) *Tally {
	t := &Tally{text: text, seq: seq, documents: make([]part, 1), starts: []int{0}, read: 1}
	if t.isBOS(0) {
		t.starts[0] = 1
	}
	return t
}

// isBOS tells whether token i of the text begins a document.
func (t *Tally) isBOS(i int) bool {
	return t.text.Tokenizer != nil && t.text.Tokens.At(i) == t.text.Tokenizer.BOS()
}

// Add adds the next token; the error is always nil.
func (t *Tally) Add(token Token) error {
	at, bytes := token.Index-1, len(token.Text)+t.text.Tokens.MoreBytes(token.Index)
	add := func(parts *[]part, i int) {
		if i >= len(*parts) {
			*parts = append(*parts, make([]part, i+1-len(*parts))...)
		}
		(*parts)[i].add(float64(token.Loss), bytes)
	}
	add(&t.windows, at/t.seq)
	add(&t.positions, at%t.seq)
	add(&t.tokens, token.ID)
	for ; t.read < token.Index; t.read++ {
		if t.isBOS(t.read) {
			t.starts = append(t.starts, t.read+1)
		}
	}
	add(&t.documents, len(t.starts)-1)
	return nil
}

// StdErr estimates the standard errors of a score's loss, perplexity and bits per byte by a
// Bootstrap over the windows that have a scored token, which are scored independently; NaN if there
// is only one. Windows of the same document are alike, so the errors come out too small for a few
// long documents.
func (t *Tally) StdErr(resamples int, seed uint64) Score {
	windows := slices.DeleteFunc(slices.Clone(t.windows), func(w part) bool { return w.tokens == 0 })
	e := Bootstrap(len(windows), resamples, seed, func(units []int) []float64 {
		var all part
		for _, u := range units {
			w := windows[u]
			all.tokens, all.loss, all.bytes = all.tokens+w.tokens, all.loss+w.loss, all.bytes+w.bytes
		}
		s := t.scoreOf(all)
		return []float64{s.Loss, s.Perplexity, s.BitsPerByte}
	})
	return Score{Loss: e[0], Perplexity: e[1], BitsPerByte: e[2]}
}

func (t *Tally) scoreOf(p part) Score {
	mean, bits := p.loss/float64(p.tokens), math.NaN()
	if t.text.Tokenizer != nil && p.bytes > 0 {
		bits = p.loss / math.Ln2 / float64(p.bytes)
	}
	return Score{Tokens: p.tokens, Loss: mean, Perplexity: math.Exp(mean), BitsPerByte: bits}
}

// Group holds the loss of a text's tokens at one position, with one id or in one document.
type Group struct {
	Key   int     // the position, the id or the number of the document
	Text  string  // text of the token, or the start of the document's text; it may begin or end inside a character
	Share float64 // share of the text's summed loss
	Error float64 // standard error of the mean loss over the group's tokens; NaN for a single token
	Score
}

// Groups returns the groups by ByPosition, ByToken or ByDocument that have a scored token, ordered
// by key. For any other grouping the error is a *layers.SettingError.
func (t *Tally) Groups(by string) ([]Group, error) {
	parts, first := t.positions, 1
	text := func(int) string { return "" }
	switch by {
	case ByPosition:
	case ByToken:
		parts, first, text = t.tokens, 0, t.tokenText
	case ByDocument:
		parts, text = t.documents, t.documentStart
	default:
		return nil, layers.Setting("by", "want %s, %s or %s, got %q", ByPosition, ByToken, ByDocument, by)
	}
	whole := 0.0
	for _, p := range parts {
		whole += p.loss
	}
	var groups []Group
	for i, p := range parts {
		if p.tokens == 0 {
			continue
		}
		n := float64(p.tokens)
		variance := max(0, p.squares-p.loss*p.loss/n) / (n - 1)
		groups = append(groups, Group{Key: first + i, Text: text(i), Share: p.loss / whole, Error: math.Sqrt(variance / n), Score: t.scoreOf(p)})
	}
	return groups, nil
}

// Largest returns the n groups with the largest share of the loss, the largest first.
func Largest(groups []Group, n int) []Group {
	sorted := slices.SortedStableFunc(slices.Values(groups), func(a, b Group) int { return cmp.Compare(b.Share, a.Share) })
	return sorted[:min(n, len(sorted))]
}

func (t *Tally) tokenText(id int) string {
	if t.text.Tokenizer == nil {
		return ""
	}
	return t.text.Tokenizer.Decode([]int32{int32(id)})
}

// documentStart returns the text of a document's first tokens.
func (t *Tally) documentStart(i int) string {
	const tokens = 12
	if t.text.Tokenizer == nil {
		return ""
	}
	var ids []int32
	for k := t.starts[i]; k < t.text.Tokens.Len() && len(ids) < tokens && !t.isBOS(k); k++ {
		ids = append(ids, t.text.Tokens.At(k))
	}
	return t.text.Tokenizer.Decode(ids)
}
