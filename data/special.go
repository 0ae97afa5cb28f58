package data

import "slices"

// Special is implemented by tokenizers that know more of their special tokens than BOS.
type Special interface {
	// EOS returns the ids each of which ends a text that a model continues, the usual one first.
	EOS() []int32
	// AddsBOS tells whether a prompt's text is read after BOS.
	AddsBOS() bool
	// SpecialName returns the text by which other programs know a special token, "" for any other
	// id.
	SpecialName(id int32) string
}

// EOS returns the ids that end a text: Special's, or else BOS, with which the next document would
// begin.
func EOS(t Tokenizer) []int32 {
	if s, ok := t.(Special); ok {
		return s.EOS()
	}
	return []int32{t.BOS()}
}

// SpecialName returns the text by which other programs know a special token, "" for any other id.
func SpecialName(t Tokenizer, id int32) string {
	if s, ok := t.(Special); ok {
		return s.SpecialName(id)
	}
	if id == t.BOS() {
		return endOfText
	}
	return ""
}

// AddsBOS tells whether a prompt's text is read after BOS, as every document is in training.
func AddsBOS(t Tokenizer) bool {
	s, ok := t.(Special)
	return !ok || s.AddsBOS()
}

// EncodePrompt returns the ids of a prompt as a model reads it: BOS, if ReadsBOS says so, and the
// text's tokens. Every prompt in this module is read by this rule.
func EncodePrompt(t Tokenizer, text string, bos *bool) []int32 {
	var ids []int32
	if ReadsBOS(t, text, bos) {
		ids = append(ids, t.BOS())
	}
	return t.Encode(ids, text)
}

// ReadsBOS tells whether EncodePrompt puts BOS before a text: as bos says or, if it is nil, as the
// tokenizer does, and before an empty text. BOS begins the documents in training; text from the
// middle of a document is better read without it.
func ReadsBOS(t Tokenizer, text string, bos *bool) bool {
	if bos != nil {
		return *bos
	}
	return text == "" || AddsBOS(t)
}

// forDocuments returns a tokenizer for models that are trained on a source of documents, each of
// which BOS begins: their prompts begin with BOS, and BOS ends their texts, whatever the files of
// the tokenizer's folder say. Conversations end with the files' own EOS.
func forDocuments(t Tokenizer, s Source) Tokenizer {
	bpe, ok := t.(*bpeTokenizer)
	if !ok {
		return t
	}
	own := *bpe
	own.addBOS = true
	if slices.Contains(own.eos, own.bos) {
		return &own
	}
	own.eos = append([]int32{own.bos}, bpe.eos...)
	if _, ok := s.(Conversations); ok {
		own.eos = append(slices.Clip(bpe.eos), own.bos)
	}
	return &own
}

// ReadingSpecial returns a tokenizer for which the name of a special token in a text is that token,
// as in transformers; t itself reads it as any other text.
func ReadingSpecial(t Tokenizer) Tokenizer {
	switch t := t.(type) {
	case *bpeTokenizer:
		own := *t
		own.special = true
		return &own
	case byteTokenizer:
		return byteTokenizer{special: true}
	}
	return t
}
