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
	GGUFControl     = 3 // special
	GGUFUserDefined = 4 // found in a text before the text is cut
	GGUFUnused      = 5
)

// ggml returns the value of a GGUF file's key tokenizer.ggml.NAME, or 0.
func ggml[T any](metadata map[string]any, name string) T {
	v, _ := metadata["tokenizer.ggml."+name].(T)
	return v
}

// GGUFSpecialIDs returns the ids that begin, end and fill texts, as a GGUF file's metadata give
// them.
func GGUFSpecialIDs(metadata map[string]any) (ids SpecialIDs) {
	for _, name := range []string{"bos", "padding", "eos", "eot", "eom"} {
		n, given := metadata["tokenizer.ggml."+name+"_token_id"].(uint64)
		id := int32(n)
		switch {
		case !given || n >= maxTokenizerIDs:
		case name == "bos":
			ids.BOS = &id
		case name == "padding":
			ids.Pad = &id
		case !slices.Contains(ids.EOS, id):
			ids.EOS = append(ids.EOS, id)
		}
	}
	return ids
}

// readGGUFTokenizer returns the tokenizer of a GGUF file as a tokenizer.json, and its special
// tokens. It is a BPE of bytes (gpt2) that cuts text by one of pieceRules, or a SentencePiece BPE
// of characters (llama), whose merges follow from the tokens' scores. Keys that are absent have
// llama.cpp's defaults.
func readGGUFTokenizer(path string) ([]byte, specials, error) {
	metadata, size, err := checkpoint.ReadGGUFValues(path)
	if err != nil {
		return nil, specials{}, err
	}
	ids, model, pre := GGUFSpecialIDs(metadata), ggml[string](metadata, "model"), ggml[string](metadata, "pre")
	rule, known := ruleNamed(pre)
	after := json.RawMessage(byteLevel)
	switch {
	case model == "llama":
		space, given := metadata["tokenizer.ggml.add_space_prefix"].(bool)
		first := int32(1)
		rule, after = pieceRule{characters: true, prepends: space || !given, begins: true}, json.RawMessage("null")
		ids.BOS = cmp.Or(ids.BOS, &first)
		if ids.EOS == nil {
			ids.EOS = []int32{2}
		}
	case model != "gpt2":
		return nil, specials{}, errors.Errorf("tokenizer.ggml.model: want gpt2 or llama, got %q: it is not supported", model)
	case !known:
		return nil, specials{}, errors.Errorf("tokenizer.ggml.pre: want gpt-2, llama-bpe, qwen2 or another rule that is known, got %q", pre)
	}
	if adds, given := metadata["tokenizer.ggml.add_bos_token"].(bool); given {
		rule.begins = adds
	}
	v, err := ggufVocabulary(metadata, ids, size)
	if err == nil && rule.characters {
		v.Merges, err = v.scoredMerges(ggml[[]float64](metadata, "scores"))
	}
	if err != nil {
		return nil, specials{}, err
	}
	if ids.BOS != nil && rule.begins && int(*ids.BOS) < len(v.Tokens) {
		after = templateOf(v.Tokens[*ids.BOS], *ids.BOS, after)
	}
	text, err := v.fileOf(rule, after)
	return text, specials{BOS: ids.BOS, EOS: ids.EOS, AddBOS: &rule.begins}, err
}

// ggufVocabulary returns the tokens and merges. Tokens that begin or end texts are special. Tokens
// and merges that take more than about a quarter of the file are an error: in a model, the weights
// for each token take more.
func ggufVocabulary(metadata map[string]any, ids SpecialIDs, file int64) (v TokenVocabulary, err error) {
	v.Tokens, v.Merges = ggml[[]string](metadata, "tokens"), append([]string{}, ggml[[]string](metadata, "merges")...)
	types := ggml[[]float64](metadata, "token_type")
	size := 0 // about what they take here, over 30
	for _, text := range slices.Concat(v.Tokens, v.Merges) {
		size += 16 + len(text)
	}
	if most := 1<<20 + file/4; int64(size) > most {
		return v, errors.Errorf("tokenizer.ggml: want tokens and merges of at most %d bytes, with 16 for each, in a file of %d, got %d", most, file, size)
	}
	if n := len(v.Tokens); n == 0 || n > maxTokenizerIDs || len(types) != n && types != nil {
		return v, errors.Errorf("tokenizer.ggml: want 1 to %d tokens, and a token_type for each, got %d and %d", maxTokenizerIDs, n, len(types))
	}
	v.Special, v.Added = make([]bool, len(v.Tokens)), make([]bool, len(v.Tokens))
	end := 0
	for id := range v.Tokens {
		kind := GGUFNormal
		if types != nil {
			kind = int(types[id])
		}
		if kind == GGUFUnused {
			v.Tokens[id] = ""
		} else {
			end = id + 1
		}
		begins := slices.Contains(ids.EOS, int32(id)) || ids.BOS != nil && *ids.BOS == int32(id)
		v.Special[id] = begins || kind == GGUFControl || kind == 2 // unknown
		v.Added[id] = !v.Special[id] && kind == GGUFUserDefined
	}
	v.Tokens, v.Special, v.Added = v.Tokens[:end], v.Special[:end], v.Added[:end]
	return v, nil
}

// scoredMerges returns the merges of a BPE that makes the union with the best score first (Kudo and
// Richardson 2018, arXiv 1808.06226): each token is the union of the two parts that better tokens
// leave of it.
func (v TokenVocabulary) scoredMerges(scores []float64) (all []string, err error) {
	if len(scores) < len(v.Tokens) {
		return nil, errors.Errorf("tokenizer.ggml.scores: want one for each of %d tokens, got %d", len(v.Tokens), len(scores))
	}
	order := make([]int, 0, len(v.Tokens)) // of ids
	for id, token := range v.Tokens {
		if token != "" && !v.Special[id] && !v.Added[id] {
			order = append(order, id)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	m, words := merges{characters: true, ids: make(map[string]int32, len(order))}, make([]string, len(order))
	for rank, id := range order {
		words[rank] = v.Tokens[id]
		m.ids[words[rank]] = int32(rank)
	}
	pairs := m.pairs(words)
	all = make([]string, 0, len(pairs))
	for _, pair := range pairs {
		all = append(all, pair[0]+" "+pair[1])
	}
	return all, nil
}
