package data

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// vocabulary fills in the tokenizer's words and merges.
func (file tokenizerJSON) vocabulary(t *bpeTokenizer) error {
	if err := file.size(t); err != nil {
		return err
	}
	if err := file.add(t); err != nil {
		return err
	}
	t.merges = merges{whole: file.Model.IgnoreMerges, ids: make(map[string]int32, len(file.Model.Vocab))}
	table := byteOfCharacter()
	taken := map[int32]bool{}
	for token, id := range file.Model.Vocab {
		name, added := t.names[id]
		if added && t.words[id] == "" { // special
			continue
		}
		if taken[id] {
			return errors.Errorf("model.vocab: want one token of id %d, got %q, too", id, token)
		}
		taken[id] = true
		word, ok := bytesOf(token, table)
		if added && token == name && !ok {
			continue
		}
		if !ok {
			return errors.Errorf("model.vocab: want tokens written by the characters of a byte-level BPE, got %q", token)
		}
		if t.merges.ids[word] = id; !added {
			t.words[id] = word
		}
	}
	for b := range 256 {
		if _, ok := t.merges.ids[string([]byte{byte(b)})]; !ok {
			return errors.Errorf("model.vocab: want a token for each byte, got none for %#02x", b)
		}
	}
	return file.ranks(&t.merges, func(token string) (string, bool) { return bytesOf(token, table) })
}

// add fills in the added tokens. Special ones, and BOS, have no text, and text never encodes to
// them.
func (file tokenizerJSON) add(t *bpeTokenizer) error {
	t.names = map[int32]string{}
	var lists [2][]addedToken
	for _, a := range file.Added {
		if id, known := file.Model.Vocab[a.Content]; known { // Hugging Face's tokenizers take this id
			a.ID = id
		}
		if _, twice := t.names[a.ID]; twice {
			return errors.Errorf("added_tokens: want one token of id %d, got %q, too", a.ID, a.Content)
		}
		t.names[a.ID] = a.Content
		if a.Special = a.Special || a.ID == t.bos; !a.Special {
			t.words[a.ID] = a.Content
		}
		list := 0
		if a.Normalized {
			list = 1
			if t.nfc != nil {
				a.Content, _ = t.nfc.normalize(a.Content)
			}
			if t.space != nil && t.space.early {
				a.Content = t.space.read(a.Content, true)
				if !a.Special {
					t.words[a.ID] = strings.ReplaceAll(a.Content, spaceMark, " ")
				}
			}
		}
		lists[list] = append(lists[list], a)
	}
	if _, known := t.names[t.bos]; t.bos < 0 || !known {
		return errors.Errorf("added_tokens: want the token %d of config.json that begins documents, got none of that id", t.bos)
	}
	t.added = [2]*addedTokens{newAddedTokens(lists[0]), newAddedTokens(lists[1])}
	return nil
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

// ranks fills in the ranks of the pairs; wordOf returns how a token is found in a text.
func (file tokenizerJSON) ranks(m *merges, wordOf func(token string) (string, bool)) error {
	m.ranks = make(map[[2]string]int32, len(file.Model.Merges))
	for rank, text := range file.Model.Merges {
		pair, err := parsePair(text)
		if err != nil {
			return errors.Wrapf(err, "model.merges[%d]", rank)
		}
		for i, token := range pair {
			word, ok := wordOf(token)
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
	if plain := string(text); len(text) > 1 && text[0] == '"' && !strings.Contains(plain, `\`) && utf8.ValidString(plain) {
		pair = strings.SplitN(plain[1:len(plain)-1], " ", 3)
	} else if json.Unmarshal(text, &one) == nil {
		pair = strings.Split(one, " ")
	} else if err := json.Unmarshal(text, &pair); err != nil {
		return [2]string{}, errors.Errorf("want two tokens, got %.40s", text)
	}
	if len(pair) != 2 {
		return [2]string{}, errors.Errorf("want two tokens, got %.40s", text)
	}
	return [2]string(pair), nil
}
