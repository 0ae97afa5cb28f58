package data

import (
	"fmt"
	"slices"

	"github.com/pkg/errors"
)

func (c *Corpus) isConversations() bool {
	_, ok := c.options.Source.(Conversations)
	return ok
}

// Pack returns the corpus of Conversations with its streams laid out in rows of seq tokens. A row
// holds the next whole conversations, as many as fit, and then BOS to its end. Conversations of
// more than seq tokens are left out or, with cut, lose the end of their response; those whose
// prompt alone fills a row are always left out. Notes of the result count them. Pack returns a
// corpus of another source as it is.
func (c *Corpus) Pack(seq int, cut bool) (*Corpus, error) {
	if !c.isConversations() {
		return c, nil
	}
	p := packer{seq: seq, cut: cut, bos: c.Tokenizer.BOS()}
	packed := *c
	packed.Notes = slices.Clone(c.Notes)
	packed.Train.Tokens = p.pack(c.Train.Tokens, c.conversations[0])
	packed.Val.Tokens = p.pack(c.Val.Tokens, c.conversations[1])
	packed.Divided = p.divided
	if p.out > 0 {
		packed.Notes = append(packed.Notes, fmt.Sprintf("data.path: %s of more than %d tokens left out: raise model.seq, or set data.cut",
			counted(p.out, "conversation", "conversations"), seq))
	}
	if p.shortened > 0 {
		packed.Notes = append(packed.Notes, fmt.Sprintf("data.cut: %s of more than %d tokens cut short", counted(p.shortened, "response", "responses"), seq))
	}
	if packed.Train.Tokens.Len() == 0 {
		return nil, errors.Errorf("data: training split: want a conversation of at most %d tokens, got none in %d: raise model.seq, or set data.cut", seq,
			c.Train.Documents)
	}
	return &packed, nil
}

// packer lays conversations into rows.
type packer struct {
	seq            int
	cut            bool
	bos            int32
	out, shortened int // conversations that were left out, or cut
	divided        int // as Corpus.Divided
}

// pack returns rows made of the conversations in stream, which have the given lengths. A BOS
// follows the last row, so that its last token, too, has a token that follows it.
func (p *packer) pack(stream Tokens, lengths []int) Tokens {
	if len(lengths) == 0 {
		return Tokens{}
	}
	form := &taskTokens{Examples: Examples{Length: p.seq}, vocab: stream.task.vocab, packed: true}
	padding := NewTokens(2*int(form.vocab), slices.Repeat([]int32{p.bos}, p.seq))
	var parts []Tokens
	used := 0 // tokens of the last row
	for _, n := range lengths {
		conversation := stream.Slice(0, n)
		stream = stream.From(n)
		if conversation = p.fitting(conversation); conversation.Len() == 0 {
			continue
		}
		if used+conversation.Len() > p.seq {
			parts, used = append(parts, padding.Slice(0, p.seq-used)), 0
		}
		parts, used = append(parts, conversation), used+conversation.Len()
		if inner := conversation.Slice(1, max(1, conversation.Len()-1)); slices.Contains(inner.IDs(), p.bos) {
			p.divided++
		}
	}
	if len(parts) == 0 {
		return Tokens{}
	}
	rows := concat(append(parts, padding.Slice(0, p.seq-used), padding.Slice(0, 1))...)
	rows.task = form
	return rows
}

// fitting returns a conversation that fits in a row, or nothing.
func (p *packer) fitting(conversation Tokens) Tokens {
	if conversation.Len() <= p.seq {
		return conversation
	}
	short := conversation.Slice(0, p.seq)
	if !p.cut || short.Targets() == 0 {
		p.out++
		return Tokens{}
	}
	p.shortened++
	return short
}
