package data

import (
	"strings"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// spaceMark is the character by which SentencePiece's tokens write a space (Kudo and Richardson
// 2018, arXiv 1808.06226), U+2581.
const spaceMark = "▁"

// metaspace says how a BPE of characters reads spaces: each becomes spaceMark, and one may be put
// before a text.
type metaspace struct {
	prepend string // prependAlways, prependFirst or ""
	early   bool   // by a normalizer: before added tokens are found in normalized text, and also before a space
}

// The values of metaspace.prepend, as in a Metaspace pre-tokenizer: before every part between added
// tokens, or before the text alone.
const (
	prependAlways = "always"
	prependFirst  = "first"
)

// read returns a part of a text with its marks; first says that it begins the text.
func (m *metaspace) read(text string, first bool) string {
	text = strings.ReplaceAll(text, " ", spaceMark)
	adds := m.prepend == prependAlways || m.prepend == prependFirst && first
	if text == "" || !adds || !m.early && strings.HasPrefix(text, spaceMark) {
		return text
	}
	return spaceMark + text
}

// metaspace returns how the file's BPE of characters reads spaces: by a normalizer that replaces
// and perhaps prepends, or by a Metaspace pre-tokenizer.
func (file tokenizerJSON) metaspace() (*metaspace, error) {
	m := &metaspace{early: true}
	replaces := false
	steps := []normalizer{}
	if n := file.Normalizer; n != nil {
		if steps = []normalizer{*n}; n.Type == "Sequence" {
			steps = n.Steps
		}
	}
	for _, s := range steps {
		switch {
		case s.Type == "Prepend" && s.Prepend == spaceMark && !replaces:
			m.prepend = prependAlways
		case s.Type == "Replace" && s.Pattern.String == " " && s.Content == spaceMark:
			replaces = true
		default:
			return nil, errors.Errorf("normalizer: want %q prepended, then spaces replaced by it, got %s", spaceMark, s.Type)
		}
	}
	p := file.PreTokenizer
	switch {
	case replaces && (p == nil || p.Type == "Split" && p.Pattern.String == " "): // no space is left to split at
		return m, nil
	case len(steps) > 0 || p == nil || p.Type != "Metaspace" || p.Replacement != spaceMark:
		return nil, errors.Errorf("pre_tokenizer: want a normalizer that replaces spaces, or a Metaspace of %q, alone", spaceMark)
	case p.Split != nil && *p.Split || p.Split == nil && p.Prepend == "":
		return nil, errors.New("pre_tokenizer: Metaspace: want split false, got true: it is not supported")
	case p.Prepend == prependAlways || p.Prepend == prependFirst:
		m.prepend = p.Prepend
	case p.Prepend != "never":
		return nil, errors.Errorf("pre_tokenizer: prepend_scheme: want always, first or never, got %q", p.Prepend)
	}
	m.early = false
	return m, nil
}

// wordOf returns the text that a token of a BPE of characters stands for, and how it is found in
// normalized text: <0x0A> is the byte 10, of a character that is no token.
func wordOf(token string) (word, key string) {
	if len(token) == len("<0x00>") && strings.HasPrefix(token, "<0x") && token[5] == '>' {
		high, low := strings.IndexByte(upperHex, token[3]), strings.IndexByte(upperHex, token[4])
		if high >= 0 && low >= 0 {
			b := string([]byte{byte(16*high + low)})
			return b, b
		}
	}
	return strings.ReplaceAll(token, spaceMark, " "), token
}

const upperHex = "0123456789ABCDEF"

// characterVocabulary fills in the words and merges of a BPE of characters, in which characters
// that are no tokens are written as tokens for their bytes.
func (file tokenizerJSON) characterVocabulary(t *bpeTokenizer) error {
	if err := file.size(t); err != nil {
		return err
	}
	if err := file.add(t); err != nil {
		return err
	}
	t.merges = merges{whole: file.Model.IgnoreMerges, characters: true, ids: make(map[string]int32, len(file.Model.Vocab))}
	taken, found := map[int32]bool{}, 0
	for token, id := range file.Model.Vocab {
		if _, added := t.names[id]; added && t.words[id] == "" { // special
			continue
		}
		if taken[id] {
			return errors.Errorf("model.vocab: want one token of id %d, got %q, too", id, token)
		}
		taken[id] = true
		word, key := wordOf(token)
		t.words[id] = word
		byteToken := len(key) == 1 && key != token
		if byteToken {
			found++
			if _, character := file.Model.Vocab[key]; character && key[0] < utf8.RuneSelf {
				continue // the character's own token is used
			}
		}
		t.merges.ids[key] = id
	}
	if found != 256 {
		return errors.Errorf("model.vocab: want a token <0x00> to <0xFF> for each byte, got %d", found)
	}
	if err := file.ranks(&t.merges, func(token string) (string, bool) { return token, true }); err != nil {
		return err
	}
	t.cutters = []cutter{func(text string, _ int) int { return len(text) }}
	if t.merges.keepsWords() {
		t.cutters[0] = wordEnd
	}
	return nil
}

// keepsWords tells whether no merge joins a character with a space mark after it, so that a text
// may be cut there.
func (m *merges) keepsWords() bool {
	for pair := range m.ranks {
		if strings.HasPrefix(pair[1], spaceMark) && !strings.HasSuffix(pair[0], spaceMark) {
			return false
		}
	}
	for token := range m.ids {
		if at := strings.LastIndex(token, spaceMark); m.whole && at > 0 && strings.TrimLeft(token[:at], spaceMark) != "" {
			return false
		}
	}
	return true
}

// wordEnd returns the end of the space marks, and of what follows up to the next one.
func wordEnd(text string, start int) int {
	i := start
	for strings.HasPrefix(text[i:], spaceMark) {
		i += len(spaceMark)
	}
	if next := strings.Index(text[i:], spaceMark); next >= 0 {
		return i + next
	}
	return len(text)
}

// joinCharacters makes one part of each character that is a token.
func (m *merges) joinCharacters(piece string, parts partList) {
	for i, r := range piece {
		size := utf8.RuneLen(r)
		if r == utf8.RuneError && !strings.HasPrefix(piece[i:], string(utf8.RuneError)) {
			continue // a byte that is not UTF-8
		}
		if _, ok := m.ids[piece[i:i+size]]; !ok {
			continue
		}
		for range size - 1 {
			parts.merge(int32(i))
		}
	}
}

// DecodeText is like t.Decode for the ids of a whole text: it removes the space that Encode puts
// before a text, as SentencePiece's tokenizers do.
func DecodeText(t Tokenizer, ids []int32) string {
	text := t.Decode(ids)
	if b, ok := t.(*bpeTokenizer); ok && b.space != nil && b.space.prepend != "" {
		return strings.TrimPrefix(text, " ")
	}
	return text
}

// pattern is what a step of a tokenizer.json replaces or splits at.
type pattern struct {
	Regex  string `json:"Regex"`
	String string `json:"String"`
}
