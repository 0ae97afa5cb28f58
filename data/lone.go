package data

import (
	"context"
	"fmt"
)

// holdOutTail makes the end of the only document the validation stream, because a split by hash
// needs several documents.
func (c *Corpus) holdOutTail(document Tokens) {
	c.whole = document
	c.split.kind = splitTail
	cut := c.split.cut(document.Len())
	c.setStreams(document.Slice(0, cut), document.From(cut))
	c.Notes = append(c.Notes, fmt.Sprintf("data.split: the corpus is one document: its last 1/%d is the validation split", c.split.parts))
}

// Whole is for a corpus of one document that is too short to be divided: it puts the end of the
// document, which Load has held out for validation, back into the training stream. It returns any
// other corpus unchanged.
func (c *Corpus) Whole() *Corpus {
	if c.whole.Len() == 0 {
		return c
	}
	w := &Corpus{Tokenizer: c.Tokenizer, options: c.options, sniffed: c.sniffed}
	w.split = splitRule{kind: splitHash, parts: c.split.parts}
	w.setStreams(c.whole, Tokens{})
	w.Notes = append(w.Notes, fmt.Sprintf("data.split: the corpus is one document, too short to hold out 1/%d of it: there is no validation split", c.split.parts))
	w.Notes = append(w.Notes, c.Notes[1:]...) // without holdOutTail's note, the first
	return w
}

// Matching returns the corpus that has the given fingerprint, by which a resumed run
// recognises its text. That is either c itself, or the same files as earlier versions read
// them: without holding out the end of a single document, and without files that have no
// extension. It returns nil if neither has the fingerprint.
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
		return nil, nil // the files cannot have been read in that way
	}
	return former, nil
}
