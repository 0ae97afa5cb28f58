package data

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// endOfText is the text of BOS in the tokenizer.json that TokenizerJSON returns.
const endOfText = "<|endoftext|>"

// TokenizerJSON returns a tokenizer.json for Hugging Face's tokenizers that corresponds to the
// tokenizer bytes or gpt2: it gives the same ids for any text that is UTF-8 and does not contain
// endOfText, which is the special token BOS there. For the path of a GGUF file it returns the
// tokenizer.json that NewTokenizer makes of the file's keys.
func TokenizerJSON(name string) ([]byte, error) {
	if IsGGUF(name) {
		text, _, err := readGGUFTokenizer(name)
		return text, err
	}
	if IsTokenizerFile(name) {
		return nil, errors.Errorf("data.tokenizer: %s is a tokenizer.json already", name)
	}
	v, err := Vocabulary(name)
	if err != nil {
		return nil, err
	}
	return v.tokenizerJSON()
}

// tokenizerJSON returns the tokenizer.json of a vocabulary that splits text as GPT-2 does and
// has one special token, its last id.
func (v TokenVocabulary) tokenizerJSON() ([]byte, error) {
	bos := int32(len(v.Tokens) - 1)
	v.Added = make([]bool, len(v.Tokens))
	return v.fileOf(pieceRules()[0], templateOf(endOfText, bos, []byte(byteLevel)))
}

// byteLevel is the step of a tokenizer.json that splits by GPT-2's pattern, and writes bytes as
// characters.
const byteLevel = `{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}`

// fileOf returns the tokenizer.json of a vocabulary that splits text by a rule, with a
// post_processor. Tokens that are added after all others are left out of the BPE's vocabulary.
func (v TokenVocabulary) fileOf(rule pieceRule, after json.RawMessage) ([]byte, error) {
	end := len(v.Tokens)
	for full := !slices.Contains(v.Tokens, ""); full && end > 0 && (v.Special[end-1] || v.Added[end-1]); {
		end--
	}
	ids, added := map[string]int{}, []string{}
	for id, token := range v.Tokens {
		if _, twice := ids[token]; token != "" && id < end && !twice {
			ids[token] = id
		}
		if v.Special[id] || v.Added[id] {
			added = append(added, fmt.Sprintf(addedFormat, id, unescaped(token), v.Special[id]))
		}
	}
	vocab, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	merges, err := json.Marshal(v.Merges)
	return fmt.Appendf(nil, tokenizerFile, rule.normalizer(), strings.Join(added, ","), rule.preTokenizer(), after, rule.decoder(), rule.characters,
		rule.whole, vocab, merges), err
}

// quoted returns a text as JSON.
func quoted(text string) json.RawMessage {
	quoted, _ := json.Marshal(text) // a string never fails
	return quoted
}

// unescaped returns a text as JSON in which <, > and & stand for themselves.
func unescaped(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string never fails
	return strings.TrimSuffix(b.String(), "\n")
}

// TemplateOfBOS returns the post_processor of a tokenizer.json that puts BOS before a text (of two
// texts, before the first). It runs after the given post_processor, unless that is null.
func TemplateOfBOS(t Tokenizer, after json.RawMessage) json.RawMessage {
	return templateOf(SpecialName(t, t.BOS()), t.BOS(), after)
}

func templateOf(name string, id int32, after json.RawMessage) json.RawMessage {
	if len(after) == 0 || string(after) == "null" {
		return fmt.Appendf(nil, templateFile, quoted(name), id)
	}
	return fmt.Appendf(nil, `{"type": "Sequence", "processors": [%s, %s]}`, after, templateOf(name, id, nil))
}

// templateFile is the template of a post_processor; the name and the id of BOS are filled in.
const templateFile = `{"type": "TemplateProcessing",
	"single": [{"SpecialToken": {"id": %[1]s, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
	"pair": [{"SpecialToken": {"id": %[1]s, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
	"special_tokens": {%[1]s: {"id": %[1]s, "ids": [%[2]d], "tokens": [%[1]s]}}}`

// TokenVocabulary is the vocabulary of a byte-level BPE in the form that other programs use.
type TokenVocabulary struct {
	Tokens  []string // [id]: bytes written in the characters of a byte-level BPE (GPT-2's); special tokens unchanged
	Special []bool   // [id]
	Added   []bool   // [id]: it is found in a text before the text is cut into pieces
	Merges  []string // "a b", in order
	Pieces  string   // llama.cpp's name for the rule that splits text, such as gpt-2 or llama-bpe; "": it has none
}

// Vocabulary returns the vocabulary of the tokenizer with that name.
func Vocabulary(name string) (TokenVocabulary, error) {
	if IsTokenizerFile(name) {
		v, err := fileVocabulary(name)
		return v, errors.Wrap(err, "data.tokenizer")
	}
	t, err := NewTokenizer(name)
	if err != nil {
		return TokenVocabulary{}, err
	}
	words, v := make([]string, t.BOS()), TokenVocabulary{Pieces: "gpt-2", Merges: []string{}}
	for i := range words {
		words[i] = t.Decode([]int32{int32(i)})
		v.Tokens, v.Special = append(v.Tokens, characters(words[i])), append(v.Special, false)
		v.Added = append(v.Added, false)
	}
	if bpe, ok := t.(*bpeTokenizer); ok {
		for _, pair := range bpe.merges.pairs(words) {
			v.Merges = append(v.Merges, characters(pair[0])+" "+characters(pair[1]))
		}
	}
	v.Tokens, v.Special, v.Added = append(v.Tokens, endOfText), append(v.Special, true), append(v.Added, false)
	return v, nil
}

// fileVocabulary returns the vocabulary of a tokenizer.json.
func fileVocabulary(path string) (TokenVocabulary, error) {
	t, file, err := readTokenizer(path)
	if err != nil {
		return TokenVocabulary{}, err
	}
	v := TokenVocabulary{Tokens: make([]string, t.Vocab()), Special: make([]bool, t.Vocab()), Added: make([]bool, t.Vocab()), Merges: []string{},
		Pieces: file.pieces()}
	for token, id := range file.Model.Vocab {
		v.Tokens[id] = token
	}
	for _, a := range file.Added {
		v.Tokens[a.ID], v.Added[a.ID] = a.Content, t.words[a.ID] != ""
		v.Special[a.ID] = !v.Added[a.ID]
	}
	for _, merge := range file.Model.Merges {
		pair, err := parsePair(merge)
		if err != nil {
			return TokenVocabulary{}, err
		}
		v.Merges = append(v.Merges, pair[0]+" "+pair[1])
	}
	return v, nil
}

// tokenizerFile is a tokenizer.json of a BPE; the values of its keys are filled in.
const tokenizerFile = `{"version": "1.0", "truncation": null, "padding": null, "normalizer": %s,
"added_tokens": [%s],
"pre_tokenizer": %s,
"post_processor": %s,
"decoder": %s,
"model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null,
	"fuse_unk": %[6]t, "byte_fallback": %[6]t, "ignore_merges": %[7]t, "vocab": %[8]s, "merges": %[9]s}}
`

const addedFormat = `{"id": %d, "content": %s, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": %t}`

// pairs returns the merges, in order, of a BPE whose tokens' ids are their ranks: each token of
// several bytes is the union of the two parts that the earlier merges leave of it.
func (m *merges) pairs(words []string) [][2]string {
	pairs := make([][2]string, 0, len(words))
	for id, word := range words {
		if len(word) < 2 {
			continue
		}
		next := m.split(word, int32(id)).next
		if middle := next[0]; int(middle) < len(word) && int(next[middle]) == len(word) { // otherwise text never encodes to it
			pairs = append(pairs, [2]string{word[:middle], word[middle:]})
		}
	}
	return pairs
}

// characters writes bytes in the characters of a byte-level BPE; it is the inverse of bytesOf.
func characters(word string) string {
	of := characterOfByte()
	out := make([]rune, len(word))
	for i := range len(word) {
		out[i] = of[word[i]]
	}
	return string(out)
}
