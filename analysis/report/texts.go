package report

import (
	"cmp"
	"context"
	"fmt"

	"github.com/residua-go/residua/analysis/corpus"
	"github.com/residua-go/residua/models/check"
)

// Texts say on what text an analysis of many tokens runs the model.
type Texts struct {
	OverRows
	Data    []string `yaml:"data" local:"true" help:"read all of text <FILE> or of a folder of token shards, in rows as long as in training; may be repeated"`
	Prompts Prompts  `yaml:"prompts" help:"read the prompts of <FILE>, each line's text; of a .jsonl, each line's string, or its object's \"prompt\""`
}

// given tells whether a text is chosen.
func (o Texts) given() bool { return o.Rows > 0 || len(o.Data) > 0 || o.Prompts != nil }

// orRows does what Read does; if no text is chosen, it returns at most n rows of validation text.
func (o Texts) orRows(ctx context.Context, m *Model, n int) (rows []corpus.Row, note string, err error) {
	if !o.given() && m.Text != nil {
		text, err := m.Text(ctx, nil, 0)
		if err := cmp.Or(ctx.Err(), err); err != nil {
			return nil, "", check.Value("rows", "a model with a validation text, or prompts", err)
		}
		o.Rows = min(n, len(text)/m.Spec.Seq)
	}
	return o.Read(ctx, m, nil)
}

// Read returns the rows of the text that is chosen, with a note; none if no text is chosen. A
// prompt is one document; any other text is split into documents at the token that begins them.
func (o Texts) Read(ctx context.Context, m *Model, bos *bool) (rows []corpus.Row, note string, err error) {
	chosen := 0
	for _, is := range []bool{o.Rows > 0, len(o.Data) > 0, o.Prompts != nil} {
		if is {
			chosen++
		}
	}
	if chosen > 1 {
		return nil, "", check.Value("rows", "one of rows, data and prompts", "several")
	}
	seq, begin := m.Spec.Seq, int32(-1)
	if m.Tokenizer != nil {
		begin = m.Tokenizer.BOS()
	}
	switch {
	case o.Rows > 0:
		text, from, err := m.validationText(ctx, o.Rows)
		if err != nil {
			return nil, "", err
		}
		whole := corpus.Cut(text, len(text), begin, 0)[0]
		for _, at := range from {
			rows = append(rows, corpus.Row{IDs: text[at:][:seq], Documents: whole.Documents[at:][:seq]})
		}
	case len(o.Data) > 0:
		if m.Text == nil {
			return nil, "", check.Value("data", "a model with a text", m.Name+", which has none")
		}
		text, err := m.Text(ctx, o.Data, 0)
		if err != nil {
			return nil, "", err
		}
		rows = corpus.Cut(text, seq, begin, 0)
	}
	long := 0
	for i, text := range o.Prompts {
		ids, err := m.encode("prompts", text, bos, 1)
		if err != nil {
			return nil, "", ofPrompt(i, err)
		}
		if len(ids) > seq {
			long++
		}
		rows = append(rows, corpus.Cut(ids, seq, -1, int32(i))...)
	}
	if long > 0 {
		note = fmt.Sprintf("; %d of %d prompts are longer than %d tokens and were cut into rows", long, len(o.Prompts), seq)
	}
	return rows, note, nil
}
