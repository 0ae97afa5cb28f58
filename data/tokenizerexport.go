package data

import (
	"encoding/json"
	"fmt"

	"github.com/pkg/errors"
)

// endOfText is the text of BOS in the tokenizer.json that TokenizerJSON returns.
const endOfText = "<|endoftext|>"

// TokenizerJSON returns a tokenizer.json for Hugging Face's tokenizers that corresponds to the
// tokenizer bytes or gpt2: it gives the same ids for any text that is UTF-8 and does not contain
// endOfText, which is the special token BOS there.
func TokenizerJSON(name string) ([]byte, error) {
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
	bos := len(v.Tokens) - 1
	ids := make(map[string]int, bos)
	for id, token := range v.Tokens[:bos] {
		ids[token] = id
	}
	vocab, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	merges, err := json.Marshal(v.Merges)
	const byteLevel = `{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}`
	return fmt.Appendf(nil, tokenizerFile, bos, vocab, merges, templateOf(endOfText, int32(bos), []byte(byteLevel))), err
}

// TemplateOfBOS returns the post_processor of a tokenizer.json that puts BOS before a text, and
// before the first of two, after another post_processor has done its work, which may be null.
func TemplateOfBOS(t Tokenizer, after json.RawMessage) json.RawMessage {
	return templateOf(SpecialName(t, t.BOS()), t.BOS(), after)
}

func templateOf(name string, id int32, after json.RawMessage) json.RawMessage {
	quoted, _ := json.Marshal(name) // a string never fails
	if len(after) == 0 || string(after) == "null" {
		return fmt.Appendf(nil, templateFile, quoted, id)
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
	Pieces  string   // llama.cpp's name for the rule that splits text: gpt-2, smollm, llama-bpe, qwen2 or gpt-4o; "": it has none
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
	v := TokenVocabulary{Tokens: make([]string, t.Vocab()), Special: make([]bool, t.Vocab()), Added: make([]bool, t.Vocab()), Merges: []string{}, Pieces: file.PreTokenizer.name()}
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

// name returns llama.cpp's name for the rule, "" if it has none.
func (p *preTokenizer) name() string {
	if p == nil || p.Type == "Metaspace" || p.Pattern.String != "" {
		return ""
	}
	name := "gpt-2"
	for _, s := range append([]preTokenizer{*p}, p.Steps...) {
		switch {
		case s.Type == "Digits" && s.Individual:
			name = "smollm"
		case s.Type == "Digits":
			name = ""
		case s.Pattern.Regex == llama3Pattern:
			name = "llama-bpe"
		case s.Pattern.Regex == o200kPattern:
			name = "gpt-4o"
		case s.Pattern.Regex == qwenPattern:
			name = "qwen2"
		}
	}
	return name
}

// tokenizerFile is a tokenizer.json with GPT-2's rule for pieces and one special token, the last
// id; its vocabulary, merges and post_processor are filled in.
const tokenizerFile = `{"version": "1.0", "truncation": null, "padding": null, "normalizer": null,
"added_tokens": [{"id": %[1]d, "content": "<|endoftext|>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}],
"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
"post_processor": %[4]s,
"decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
"model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null,
	"fuse_unk": false, "byte_fallback": false, "ignore_merges": false, "vocab": %[2]s, "merges": %[3]s}}
`

// pairs returns the merges, in order, of a BPE whose tokens' ids are their ranks: each token of
// several bytes is the union of the two parts that the earlier merges leave of it.
func (m *merges) pairs(words []string) [][2]string {
	pairs := [][2]string{}
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
