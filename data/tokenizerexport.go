package data

import (
	"encoding/json"

	"github.com/pkg/errors"
)

// EndOfText is how a tokenizer.json of TokenizerJSON spells the id that begins documents.
const EndOfText = "<|endoftext|>"

// TokenizerJSON returns the tokenizer.json of Hugging Face's tokenizers for the
// tokenizer of that name, bytes or gpt2: the same ids for any text that is
// UTF-8 and does not spell EndOfText, which is the special token BOS there.
func TokenizerJSON(name string) ([]byte, error) {
	t, err := NewTokenizer(name)
	if err != nil {
		return nil, err
	}
	words, merged := make([]string, t.BOS()), [][2]string{}
	id := make([]int32, 1)
	for i := range words {
		id[0] = int32(i)
		words[i] = t.Decode(id)
	}
	switch t := t.(type) {
	case byteTokenizer:
	case *bpeTokenizer:
		if t.merges.ranks != nil {
			return nil, errors.Errorf("data.tokenizer: %s is a tokenizer.json already", name)
		}
		merged = t.merges.pairs(words)
	}
	return json.Marshal(exportedTokenizer(words, merged))
}

// exportedTokenizer is a tokenizer.json with GPT-2's pieces, and BOS after the last word.
func exportedTokenizer(words []string, merged [][2]string) any {
	vocab := make(map[string]int, len(words))
	for i, word := range words {
		vocab[characters(word)] = i
	}
	lines := make([]string, len(merged))
	for i, pair := range merged {
		lines[i] = characters(pair[0]) + " " + characters(pair[1])
	}
	type object = map[string]any
	byteLevel := object{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}
	return object{
		"version": "1.0", "truncation": nil, "padding": nil, "normalizer": nil,
		"added_tokens": []object{{"id": len(words), "content": EndOfText, "single_word": false, "lstrip": false, "rstrip": false,
			"normalized": false, "special": true}},
		"pre_tokenizer": byteLevel, "post_processor": byteLevel, "decoder": byteLevel,
		"model": object{"type": "BPE", "dropout": nil, "unk_token": nil, "continuing_subword_prefix": nil, "end_of_word_suffix": nil,
			"fuse_unk": false, "byte_fallback": false, "ignore_merges": false, "vocab": vocab, "merges": lines},
	}
}

// pairs are the merges, in their order, of a BPE whose tokens' ids are their
// ranks: each token of several bytes is the union of the two that the merges
// before it leave of it.
func (m *merges) pairs(words []string) [][2]string {
	pairs := [][2]string{}
	for id, word := range words {
		if len(word) < 2 {
			continue
		}
		parts := make([]string, len(word))
		for i := range len(word) {
			parts[i] = word[i : i+1]
		}
		for len(parts) > 2 {
			best, lowest := -1, int32(id)
			for i := range len(parts) - 1 {
				if rank, ok := m.ids[parts[i]+parts[i+1]]; ok && rank < lowest {
					best, lowest = i, rank
				}
			}
			if best < 0 {
				break // no merges make it: text never encodes to it
			}
			parts = append(append(parts[:best:best], parts[best]+parts[best+1]), parts[best+2:]...)
		}
		if len(parts) == 2 {
			pairs = append(pairs, [2]string{parts[0], parts[1]})
		}
	}
	return pairs
}

// characters writes bytes by the characters of a byte-level BPE, the inverse of bytesOf.
func characters(word string) string {
	of := characterOfByte()
	out := make([]rune, len(word))
	for i := range len(word) {
		out[i] = of[word[i]]
	}
	return string(out)
}
