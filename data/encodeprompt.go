package data

// EncodePrompt returns the ids of a prompt as a model reads it: BOS, with which documents begin in
// training, and the text's tokens; with bos false the tokens alone, as of text from the middle of
// a document. Everything that reads a prompt's text reads it by this rule; nil is true.
func EncodePrompt(t Tokenizer, text string, bos *bool) []int32 {
	var ids []int32
	if ReadsBOS(bos) {
		ids = append(ids, t.BOS())
	}
	return t.Encode(ids, text)
}

// ReadsBOS tells whether the setting bos of a prompt, which EncodePrompt takes, wants BOS.
func ReadsBOS(bos *bool) bool { return bos == nil || *bos }
