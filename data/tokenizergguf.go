package data

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
)

// The types of tokens in GGUF files.
const (
	GGUFNormal      = 1
	GGUFUnknown     = 2
	GGUFControl     = 3 // special
	GGUFUserDefined = 4 // found in a text before the text is cut
	GGUFUnused      = 5
	GGUFByte        = 6
)

// ggufTokenizer holds a GGUF file's keys tokenizer.ggml.NAME.
type ggufTokenizer map[string]any

// list returns a list of a key, of the length of tokens, or nil if there is none.
func (g ggufTokenizer) list(name string) ([]float64, error) {
	all, _ := g["tokenizer.ggml."+name].([]float64)
	if tokens := g.texts("tokens"); all != nil && len(all) != len(tokens) {
		return nil, errors.Errorf("tokenizer.ggml.%s: want a number for each of %d tokens, got %d", name, len(tokens), len(all))
	}
	return all, nil
}

func (g ggufTokenizer) texts(name string) []string {
	all, _ := g["tokenizer.ggml."+name].([]string)
	return all
}

func (g ggufTokenizer) text(name string) string {
	text, _ := g["tokenizer.ggml."+name].(string)
	return text
}

// id returns the id that a key gives, or nil.
func (g ggufTokenizer) id(name string) *int32 {
	if n, ok := g["tokenizer.ggml."+name+"_token_id"].(uint64); ok && n < maxTokenizerIDs {
		id := int32(n)
		return &id
	}
	return nil
}

// GGUFSpecialIDs returns the ids that begin, end and fill texts, as a GGUF file's metadata give
// them.
func GGUFSpecialIDs(metadata map[string]any) SpecialIDs {
	g := ggufTokenizer(metadata)
	ids := SpecialIDs{BOS: g.id("bos"), Pad: g.id("padding")}
	for _, name := range []string{"eos", "eot", "eom"} {
		if id := g.id(name); id != nil && !slices.Contains(ids.EOS, *id) {
			ids.EOS = append(ids.EOS, *id)
		}
	}
	return ids
}

// readGGUFTokenizer returns the tokenizer of a GGUF file as a tokenizer.json, and its special
// tokens. It is a BPE of bytes (gpt2) with a rule of llama.cpp's that pieceRules lists, or a
// SentencePiece BPE of characters (llama), whose merges follow from the tokens' scores. Keys that
// are absent have llama.cpp's defaults.
func readGGUFTokenizer(path string) ([]byte, specials, error) {
	values, err := checkpoint.ReadGGUFValues(path)
	if err != nil {
		return nil, specials{}, err
	}
	g := ggufTokenizer(values)
	rule, known := ruleNamed(g.text("pre"))
	ids, adds := GGUFSpecialIDs(values), known && rule.pattern == llama3Pattern && rule.whole
	switch model := g.text("model"); {
	case model == "llama":
		space, given := values["tokenizer.ggml.add_space_prefix"].(bool)
		rule, adds = pieceRule{characters: true, prepends: space || !given}, true
		if ids.BOS == nil {
			ids.BOS = new(int32)
			*ids.BOS = 1
		}
		if ids.EOS == nil {
			ids.EOS = []int32{2}
		}
	case model != "gpt2":
		return nil, specials{}, errors.Errorf("tokenizer.ggml.model: want gpt2 or llama, got %q: it is not supported", model)
	case !known:
		return nil, specials{}, errors.Errorf("tokenizer.ggml.pre: want gpt-2, llama-bpe, qwen2 or another rule that is known, got %q", g.text("pre"))
	}
	if given, ok := values["tokenizer.ggml.add_bos_token"].(bool); ok {
		adds = given
	}
	v, err := g.vocabulary(ids)
	if err != nil {
		return nil, specials{}, err
	}
	if v.Merges = append(v.Merges, g.texts("merges")...); rule.characters {
		if v.Merges, err = g.scoredMerges(v); err != nil {
			return nil, specials{}, err
		}
	}
	after := json.RawMessage("null")
	if !rule.characters {
		after = json.RawMessage(byteLevel)
	}
	if ids.BOS != nil && adds && int(*ids.BOS) < len(v.Tokens) {
		after = templateOf(v.Tokens[*ids.BOS], *ids.BOS, after)
	}
	text, err := v.fileOf(rule, after)
	return text, specials{BOS: ids.BOS, EOS: ids.EOS, AddBOS: &adds}, err
}

// vocabulary returns the tokens, without merges. Tokens that begin or end texts are special.
func (g ggufTokenizer) vocabulary(ids SpecialIDs) (TokenVocabulary, error) {
	tokens := g.texts("tokens")
	v := TokenVocabulary{Tokens: tokens, Special: make([]bool, len(tokens)), Added: make([]bool, len(tokens)), Merges: []string{}}
	types, err := g.list("token_type")
	switch {
	case err != nil:
		return v, err
	case len(tokens) == 0 || len(tokens) > maxTokenizerIDs:
		return v, errors.Errorf("tokenizer.ggml.tokens: want 1 to %d tokens, got %d", maxTokenizerIDs, len(tokens))
	}
	for id, kind := range types {
		v.Special[id], v.Added[id] = kind == GGUFControl || kind == GGUFUnknown, kind == GGUFUserDefined
		if kind == GGUFUnused {
			tokens[id] = ""
		}
	}
	for n := len(tokens); n > 0 && tokens[n-1] == ""; n-- {
		v.Tokens, v.Special, v.Added = tokens[:n-1], v.Special[:n-1], v.Added[:n-1]
	}
	for _, id := range ids.named() {
		if int(id) < len(v.Tokens) && v.Tokens[id] != "" {
			v.Special[id], v.Added[id] = true, false
		}
	}
	return v, nil
}

// scoredMerges returns the merges of a BPE whose unions of two tokens are made by descending scores
// (Kudo and Richardson 2018, arXiv 1808.06226): each token is the union of the two parts that
// better tokens leave of it.
func (g ggufTokenizer) scoredMerges(v TokenVocabulary) ([]string, error) {
	scores, err := g.list("scores")
	if err != nil || scores == nil {
		return nil, errors.Wrap(cmp.Or(err, errors.New("want a number for each token, got none")), "tokenizer.ggml.scores")
	}
	var order []int // of ids
	for id, token := range v.Tokens {
		if token != "" && !v.Special[id] && !v.Added[id] {
			order = append(order, id)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	m, words, all := merges{characters: true, ids: map[string]int32{}}, make([]string, len(order)), []string{}
	for rank, id := range order {
		words[rank] = v.Tokens[id]
		m.ids[words[rank]] = int32(rank)
	}
	for _, pair := range m.pairs(words) {
		all = append(all, pair[0]+" "+pair[1])
	}
	return all, nil
}
