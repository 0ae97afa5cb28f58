package data

// EncodePrompt returns the ids of a prompt as a model reads it: BOS, with which documents begin in
// training, followed by the text's tokens. With bos false it returns the tokens alone, as for text
// from the middle of a document; nil means true. Every prompt in this module is read by this rule.
func EncodePrompt(t Tokenizer, text string, bos *bool) []int32 {
	var ids []int32
	if ReadsBOS(bos) {
		ids = append(ids, t.BOS())
	}
	return t.Encode(ids, text)
}

// ReadsBOS tells whether EncodePrompt adds BOS for this value of bos.
func ReadsBOS(bos *bool) bool { return bos == nil || *bos }
