package report

import (
	"context"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/pretrained"
)

// Of is a model that was read from a file, as reports take it: with its tokenizer, if it has one,
// and the text that it was not trained on. It is an error if the tokenizer cannot be made.
func Of(m *pretrained.Model) (*Model, error) {
	of := &Model{Name: m.Source.ModelPath, Path: m.Source.ModelPath, Store: m.Store, Spec: m.Spec, Zoo: m.Zoo}
	of.Text = func(ctx context.Context, files []string, tokens int) ([]int32, error) {
		text, err := m.LoadText(ctx, pretrained.EvaluateOptions{Data: files, Tokens: tokens})
		if err != nil {
			return nil, err
		}
		return text.Tokens.IDs(), nil
	}
	if m.Data.Tokenizer == "" {
		return of, nil
	}
	tokenizer, err := m.Tokenizer()
	if err != nil {
		return nil, errors.Wrap(err, m.Source.ModelPath)
	}
	of.Tokenizer = tokenizer
	return of, nil
}
