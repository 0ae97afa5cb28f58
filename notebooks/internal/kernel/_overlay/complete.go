package main

import (
	"log"
	"unicode/utf8"
)

// aroundCursor returns a cell's text before and after the cursor, from an editor's request.
func (receipt *msgReceipt) aroundCursor() (before, after string) {
	content, _ := receipt.Msg.Content.(map[string]interface{})
	after, _ = content["code"].(string)
	characters, _ := content["cursor_pos"].(float64)
	for range int(characters) {
		_, size := utf8.DecodeRuneInString(after)
		before, after = before+after[:size], after[size:]
	}
	return before, after
}

// answerComplete returns completions of the word before the cursor. gophernotes' own answer counts
// bytes, but Jupyter counts characters.
func (kernel *Kernel) answerComplete(receipt msgReceipt) {
	before, _ := receipt.aroundCursor()
	kept, matches, _ := kernel.ir.CompleteWords(before, len(before))
	if matches == nil {
		matches = []string{}
	}
	if err := receipt.Reply("complete_reply", map[string]any{
		"status": "ok", "matches": matches, "metadata": map[string]any{},
		"cursor_start": utf8.RuneCountInString(kept), "cursor_end": utf8.RuneCountInString(before),
	}); err != nil {
		log.Println(err)
	}
}
