package explore

import (
	"cmp"
	"fmt"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/models/check"
)

// topDefault is the number of alternatives of a token if a request sets none.
const topDefault = 8

// encode returns a request's ids, or those of its text, encoded as by data.EncodePrompt.
func (e *Explorer) encode(field, text string, ids []int32, bos *bool) ([]int32, error) {
	switch {
	case len(ids) > 0 && text != "":
		return nil, check.Value(field, "a text or ids", "both")
	case len(ids) == 0 && e.tokenizer == nil:
		return nil, check.Value("ids", fmt.Sprintf("at least one token id, each below %d: the model has no tokenizer", e.spec.Vocab), "none")
	case len(ids) == 0:
		if ids = data.EncodePrompt(e.tokenizer, text, bos); len(ids) == 0 {
			return nil, check.Value(field, "a text of at least 1 token, or bos", "none")
		}
	}
	if len(ids) > e.options.Tokens {
		return nil, check.Value(field, fmt.Sprintf("at most %d tokens", e.options.Tokens), len(ids))
	}
	for i, id := range ids {
		if err := check.Index(fmt.Sprintf("ids[%d]", i), int(id), e.spec.Vocab); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// topOf returns the number of alternatives that a request asks for.
func (e *Explorer) topOf(asked int) int { return min(cmp.Or(asked, topDefault), e.spec.Vocab) }
