package data

import (
	"context"
	"fmt"
)

// holdOutTail makes the end of the only document the validation stream: a split
// by hash has nothing to choose from.
func (c *Corpus) holdOutTail(document Tokens) {
	c.whole = document
	c.split.kind = splitTail
	cut := c.split.cut(document.Len())
	c.setStreams(document.Slice(0, cut), document.From(cut))
	c.Notes = append(c.Notes, fmt.Sprintf("data.split: the corpus is one document: its last 1/%d is the validation split", c.split.parts))
}

// Whole gives the end of an only document, which Load held out for validation
// by itself, back to the training stream, for a corpus that is too short for
// both. Any other corpus is returned as it is.
func (c *Corpus) Whole() *Corpus {
	if c.whole.Len() == 0 {
		return c
	}
	w := &Corpus{Tokenizer: c.Tokenizer, options: c.options, sniffed: c.sniffed}
	w.split = splitRule{kind: splitHash, parts: c.split.parts}
	w.setStreams(c.whole, Tokens{})
	w.Notes = append(w.Notes, fmt.Sprintf("data.split: the corpus is one document, too short to hold out 1/%d of it: there is no validation split", c.split.parts))
	w.Notes = append(w.Notes, c.Notes[1:]...) // the first is that of holdOutTail
	return w
}

// Matching returns the corpus of that fingerprint, by which a run that is gone
// on with knows its text again: c itself, or the same files as they were read
// before there were tails of only documents and before files without an
// extension were read in folders. It is nil if neither has the fingerprint.
func (c *Corpus) Matching(ctx context.Context, fingerprint string) (*Corpus, error) {
	if c.Fingerprint == fingerprint {
		return c, nil
	}
	if whole := c.Whole(); whole.Fingerprint == fingerprint {
		return whole, nil
	}
	if !c.sniffed {
		return nil, nil
	}
	o := c.options
	o.former = true
	former, err := Load(ctx, o)
	if ctx.Err() != nil {
		return nil, err
	}
	if err != nil || former.Fingerprint != fingerprint {
		return nil, nil // the files as they were could not be read then, either
	}
	return former, nil
}
