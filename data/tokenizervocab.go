package data

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// vocabulary fills in the tokenizer's words and merges.
func (file tokenizerJSON) vocabulary(t *bpeTokenizer) error {
	if err := file.size(t); err != nil {
		return err
	}
	added := map[int32]bool{}
	t.special = map[int32]string{}
	for _, a := range file.Added {
		if added[a.ID] {
			return errors.Errorf("added_tokens: want one token of id %d, got %q, too", a.ID, a.Content)
		}
		added[a.ID] = true
		if a.Special || a.ID == t.bos {
			t.special[a.ID] = a.Content
		} else {
			t.words[a.ID] = a.Content
		}
	}
	if t.bos < 0 || !added[t.bos] {
		return errors.Errorf("added_tokens: want the token %d of config.json that begins documents, got none of that id", t.bos)
	}
	t.merges = merges{whole: file.Model.IgnoreMerges, ids: make(map[string]int32, len(file.Model.Vocab))}
	table := byteOfCharacter()
	taken := map[int32]bool{}
	for token, id := range file.Model.Vocab {
		if added[id] {
			continue
		}
		if taken[id] {
			return errors.Errorf("model.vocab: want one token of id %d, got %q, too", id, token)
		}
		taken[id] = true
		word, ok := bytesOf(token, table)
		if !ok {
			return errors.Errorf("model.vocab: want tokens written by the characters of a byte-level BPE, got %q", token)
		}
		t.words[id], t.merges.ids[word] = word, id
	}
	for b := range 256 {
		if _, ok := t.merges.ids[string([]byte{byte(b)})]; !ok {
			return errors.Errorf("model.vocab: want a token for each byte, got none for %#02x", b)
		}
	}
	return file.ranks(&t.merges, table)
}

// size allocates the words, one for each id up to the largest.
func (file tokenizerJSON) size(t *bpeTokenizer) error {
	ids := slices.Collect(maps.Values(file.Model.Vocab))
	for _, a := range file.Added {
		ids = append(ids, a.ID)
	}
	for _, id := range ids {
		if id < 0 || id >= maxTokenizerIDs {
			return errors.Errorf("want ids from 0 to %d, got %d", maxTokenizerIDs-1, id)
		}
	}
	if len(ids) > 0 {
		t.words = make([]string, slices.Max(ids)+1)
	}
	return nil
}

// ranks fills in the ranks of the pairs.
func (file tokenizerJSON) ranks(m *merges, table map[rune]byte) error {
	m.ranks = make(map[[2]string]int32, len(file.Model.Merges))
	for rank, text := range file.Model.Merges {
		pair, err := parsePair(text)
		if err != nil {
			return errors.Wrapf(err, "model.merges[%d]", rank)
		}
		for i, token := range pair {
			word, ok := bytesOf(token, table)
			if _, known := m.ids[word]; !ok || !known {
				return errors.Errorf("model.merges[%d]: want two tokens of the vocabulary, got %q", rank, token)
			}
			pair[i] = word
		}
		if _, known := m.ids[pair[0]+pair[1]]; !known {
			return errors.Errorf("model.merges[%d]: want a union that is in the vocabulary, got %q", rank, pair[0]+pair[1])
		}
		if _, twice := m.ranks[pair]; !twice {
			m.ranks[pair] = int32(rank)
		}
	}
	return nil
}

// parsePair parses "a b" or ["a", "b"].
func parsePair(text json.RawMessage) ([2]string, error) {
	var one string
	var pair []string
	if json.Unmarshal(text, &one) == nil {
		pair = strings.Split(one, " ")
	} else if err := json.Unmarshal(text, &pair); err != nil {
		return [2]string{}, errors.Errorf("want two tokens, got %.40s", text)
	}
	if len(pair) != 2 {
		return [2]string{}, errors.Errorf("want two tokens, got %.40s", text)
	}
	return [2]string(pair), nil
}
