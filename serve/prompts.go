package serve

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/residua-go/residua/data"
)

// prompts are the prompts of a request: texts, or lists of token ids.
type prompts struct {
	texts []string
	lists [][]int32
	most  int // limit on the ids in a list; a longer list is refused before it is decoded
}

// UnmarshalJSON accepts a text, a list of texts, one list of ids or several.
func (p *prompts) UnmarshalJSON(text []byte) error {
	p.texts, p.lists = nil, nil
	switch kind(text) {
	case 'n': // null
		return nil
	case '"':
		p.texts = make([]string, 1)
		return json.Unmarshal(text, &p.texts[0])
	case '[':
	default:
		return badPrompt("something else")
	}
	switch kind(text[1:]) {
	case '"':
		return p.readTexts(text)
	case '[':
		return p.readIDs(text, &p.lists)
	}
	p.lists = make([][]int32, 1)
	return p.readIDs(text, &p.lists[0])
}

// kind returns the first byte of a JSON value.
func kind(value []byte) byte { return bytes.TrimLeft(value, " \t\r\n")[0] }

func badPrompt(got string) error {
	return invalid("prompt", "want a string, an array of strings, an array of token ids or an array of such arrays, got %s", got)
}

func (p *prompts) readTexts(text []byte) error {
	var texts []*string
	if json.Unmarshal(text, &texts) != nil {
		return badPrompt("an array of strings and something else")
	}
	for _, t := range texts {
		if t == nil {
			return badPrompt("an array of strings and null")
		}
		p.texts = append(p.texts, *t)
	}
	return nil
}

// readIDs decodes one list of ids or several into v.
func (p *prompts) readIDs(text []byte, v any) error {
	for list := range bytes.SplitSeq(text, []byte{']'}) {
		if n := bytes.Count(list, []byte{','}); n > p.most { // commas + 1 is the number of ids, but a comma may also come before the list
			return invalid("prompt", "want at most %d token ids, this server's longest context, got %d or more", p.most, n).
				with(http.StatusBadRequest, "context_length_exceeded")
		}
	}
	if bytes.IndexByte(text, 'n') >= 0 || json.Unmarshal(text, v) != nil {
		return badPrompt("an array with something else than integers")
	}
	for _, ids := range p.lists {
		if len(ids) == 0 {
			return badPrompt("an empty array")
		}
	}
	return nil
}

// len returns the number of prompts; without any, an empty one is continued.
func (p *prompts) len() int { return max(1, len(p.texts)+len(p.lists)) }

// ids returns prompt i as the model reads it: a text as data.EncodePrompt encodes it, ids
// unchanged.
func (p *prompts) ids(i int, m *Model, bos *bool) ([]int32, error) {
	if i < len(p.lists) {
		if err := data.CheckIDs(p.lists[i], m.Vocab); err != nil {
			return nil, invalid("prompt", "%v", err)
		}
		return p.lists[i], nil
	}
	if m.Tokenizer == nil {
		return nil, invalid("prompt", "want token ids, each below %d: the model %s has no tokenizer", m.Vocab, m.Name)
	}
	ids := data.EncodePrompt(m.Tokenizer, p.text(i), bos)
	if len(ids) == 0 {
		return nil, invalid("add_special_tokens", "want true, or a prompt, got neither: nothing is read")
	}
	return ids, nil
}

// added returns how many tokens the server puts before prompt i.
func (p *prompts) added(i int, m *Model, bos *bool) int {
	if i < len(p.lists) || !data.ReadsBOS(m.Tokenizer, p.text(i), bos) {
		return 0
	}
	return 1
}

// text returns prompt i, which is a text.
func (p *prompts) text(i int) string {
	if len(p.texts) == 0 {
		return ""
	}
	return p.texts[i]
}
