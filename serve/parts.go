package serve

import (
	"slices"

	"github.com/residua-go/residua/generate"
)

// parts turns a text's pieces into parts of a choice.
type parts struct {
	index    int
	request  generate.Request
	alts     int // number of likeliest tokens to report for each; -1: no log probabilities were asked for
	skip     int // tokens that the server put before the prompt
	unlogged int // number of further tokens without a log probability: the first of the prompt
	offsets  offsets
	held     []generate.Token // tokens whose text is still to come, or never comes if a stop string ends the text before it
	sent     bool             // a part was emitted
	emit     func(choice) error
}

func newParts(c *completion, i int, emit func(choice) error) *parts {
	p := &parts{index: i, request: c.texts[i], alts: -1, emit: emit}
	if c.request.LogProbs == nil {
		return p
	}
	p.alts = *c.request.LogProbs
	if p.request.PromptLogProbs {
		p.skip = c.request.Prompt.added(i/c.request.N, c.model, c.request.AddSpecial)
		p.unlogged = 1 - p.skip
	}
	return p
}

func (p *parts) add(piece generate.Piece) error {
	p.held = append(p.held, piece.Tokens...)
	if piece.Text == "" && len(p.request.Stop) > 0 {
		return nil
	}
	return p.send(piece.Text, "")
}

// finish reports why the text ended.
func (p *parts) finish(r generate.Result) error {
	reason := "stop" // a stop string, or the model ended the document
	switch r.Stop {
	case generate.StopTokens:
		reason = "length"
	case generate.StopString:
		p.held = nil
	}
	return p.send("", reason)
}

func (p *parts) send(text, reason string) error {
	part := choice{Index: p.index, Text: text, first: !p.sent}
	p.sent = true
	if reason != "" {
		part.FinishReason = &reason
	}
	if p.alts >= 0 {
		part.LogProbs = p.logProbs(p.held)
	}
	p.held = nil
	return p.emit(part)
}

// logProbs converts the log probabilities of some tokens to OpenAI's form.
func (p *parts) logProbs(tokens []generate.Token) *logProbs {
	skipped := min(p.skip, len(tokens))
	p.skip -= skipped
	l := newLogProbs()
	for _, t := range tokens[skipped:] {
		l.Tokens = append(l.Tokens, tokenName(t))
		l.TextOffset = append(l.TextOffset, p.offsets.next(t.Text))
		if p.unlogged > 0 {
			p.unlogged--
			l.TokenLogProbs = append(l.TokenLogProbs, nil)
			l.TopLogProbs = append(l.TopLogProbs, nil)
			continue
		}
		value := finite(t.LogProb)
		l.TokenLogProbs = append(l.TokenLogProbs, &value)
		l.TopLogProbs = append(l.TopLogProbs, alternatives(t, p.alts))
	}
	return l
}

// alternatives returns the likeliest tokens at a token's position, and the token itself.
func alternatives(t generate.Token, most int) alternativeTokens {
	all := slices.Clone(t.Top[:min(most, len(t.Top))])
	same := func(other generate.Token) bool { return other.ID == t.ID }
	if !slices.ContainsFunc(all, same) {
		all = append(all, t)
	}
	return all
}
