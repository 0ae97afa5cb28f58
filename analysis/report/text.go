package report

import (
	"context"

	"github.com/residua-go/residua/models/check"
)

// OverRows chooses rows of text to average over.
type OverRows struct {
	Rows int `yaml:"rows" min:"0" max:"1000000" help:"read <N> rows of the model's validation text, as long as in training; 0: a prompt, or the usual number"`
}

// texts returns the rows of tokens that an analysis averages over: a list of prompts, or the given
// number of rows of the model's validation text. It returns nil if neither is given and one prompt
// is read.
func (m *Model) texts(ctx context.Context, p Prompt, prompts Prompts, rows, least int) ([][]int32, error) {
	switch {
	case prompts == nil && rows == 0:
		return nil, nil
	case p.given():
		return nil, bothGiven()
	case prompts != nil && rows != 0:
		return nil, check.Value("rows", "rows of validation text, or a list of prompts", "both")
	case rows != 0:
		return m.ValidationRows(ctx, rows)
	}
	var texts [][]int32
	for i, text := range prompts {
		ids, err := Prompt{Text: text, BOS: p.BOS}.Read(m, least)
		if err != nil {
			return nil, ofPrompt(i, err)
		}
		texts = append(texts, ids)
	}
	return texts, nil
}

// read returns the rows of texts. If neither prompts nor rows are given, it returns the prompt,
// both as the only row and by itself.
func (m *Model) read(ctx context.Context, p Prompt, prompts Prompts, rows int) (all [][]int32, prompt []int32, err error) {
	if all, err = m.texts(ctx, p, prompts, rows, 2); err != nil || all != nil {
		return all, nil, err
	}
	prompt, err = p.Read(m, 2)
	return [][]int32{prompt}, prompt, err
}

// ValidationRows returns n rows of the model's validation text, as long as rows in training and
// evenly spread over the text. They begin in the middle of documents, as rows in training do.
func (m *Model) ValidationRows(ctx context.Context, n int) (rows [][]int32, err error) {
	text, from, err := m.validationText(ctx, n)
	for _, at := range from {
		rows = append(rows, text[at:][:m.Spec.Seq])
	}
	return rows, err
}

// validationText returns the model's validation text and where the rows of ValidationRows begin.
func (m *Model) validationText(ctx context.Context, n int) (text []int32, from []int, err error) {
	if m.Text == nil {
		return nil, nil, check.Value("rows", "a model with a validation text", m.Name+", which has none")
	}
	if text, err = m.Text(ctx, nil, 0); err != nil {
		return nil, nil, err
	}
	seq := m.Spec.Seq
	if most := len(text) / seq; n > most {
		return nil, nil, check.Valuef("rows", n, "at most %d of %d tokens, the model's validation text", most, seq)
	}
	for i := range n {
		from = append(from, i*(len(text)/n))
	}
	return text, from, nil
}
