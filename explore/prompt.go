package explore

import (
	"cmp"
	"fmt"

	"github.com/residua-go/residua/analysis/check"
	"github.com/residua-go/residua/data"
)

// topDefault is how many alternatives of a token there are unless a request says otherwise.
const topDefault = 8

// encode is the ids of a request's text, or its ids; a text is read as data.EncodePrompt says.
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

// topOf is how many alternatives a request asks for.
func (e *Explorer) topOf(asked int) int { return min(cmp.Or(asked, topDefault), e.spec.Vocab) }
