package generate

import (
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
)

// biases parses the values of -logit-bias: TOKEN=VALUE, where TOKEN is an id or a text that is one
// token, in double quotes if necessary ("13", "\
// ").
func biases(list []string, t data.Tokenizer) (map[int32]float64, error) {
	all := map[int32]float64{}
	for _, entry := range list {
		at := strings.LastIndex(entry, "=")
		if at < 1 {
			return nil, errors.Errorf(`-logit-bias: want TOKEN=VALUE, such as 13=-100 or "the"=2.5, got %q`, entry)
		}
		id, err := biased(entry[:at], t)
		if err != nil {
			return nil, err
		}
		if all[id], err = strconv.ParseFloat(entry[at+1:], 64); err != nil {
			return nil, errors.Errorf("-logit-bias: want a number after the last =, got %q", entry[at+1:])
		}
	}
	return all, nil
}

// biased returns the id of a token given by id or text.
func biased(token string, t data.Tokenizer) (int32, error) {
	if id, err := strconv.ParseInt(token, 10, 32); err == nil {
		return int32(id), nil
	}
	if t == nil {
		return 0, errors.Errorf("-logit-bias: want a token id, such as 13=-100, got %q: the model has no tokenizer", token)
	}
	if text, err := strconv.Unquote(token); err == nil && token[0] == '"' {
		token = text
	}
	ids := t.Encode(nil, token)
	if len(ids) != 1 {
		return 0, errors.Errorf("-logit-bias: want the text of one token, got %q, which is %d: %v", token, len(ids), ids)
	}
	return ids[0], nil
}
