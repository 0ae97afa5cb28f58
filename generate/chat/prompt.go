package chat

import (
	"context"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
)

// Prompt renders a conversation and returns it as a model reads it: the names of special tokens are
// those tokens, and no BOS is added, which a template writes itself.
func (r Renderer) Prompt(ctx context.Context, request Request, tokenizer data.Tokenizer) ([]int32, error) {
	text, err := r.Render(ctx, request)
	if err != nil {
		return nil, err
	}
	ids := data.ReadingSpecial(tokenizer).Encode(nil, text)
	if len(ids) == 0 {
		return nil, errors.New("chat template: want a text, got an empty one")
	}
	return ids, nil
}
