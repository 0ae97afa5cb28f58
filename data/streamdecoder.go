package data

import "unicode/utf8"

// StreamDecoder turns ids that arrive one by one into text that is valid UTF-8 at every moment: it
// holds back bytes that may still become a character until the character is complete. A byte that
// cannot become part of a character gives U+FFFD. The texts that Next and Flush return join to
// string([]rune(tokenizer.Decode(ids))).
//
// A StreamDecoder must be used from one goroutine.
type StreamDecoder struct {
	tokenizer Tokenizer
	id        [1]int32
	pending   []byte // beginning of a character, at most 3 bytes
	before    int
}

// NewStreamDecoder returns a decoder for ids of t.
func NewStreamDecoder(t Tokenizer) *StreamDecoder {
	return &StreamDecoder{tokenizer: t}
}

// Next takes one id and returns the characters that it completes: often none or one, several for a
// long token.
func (d *StreamDecoder) Next(id int32) string {
	d.id[0] = id
	held := len(d.pending)
	d.pending = append(d.pending, d.tokenizer.Decode(d.id[:])...)
	var text []byte
	rest := d.pending
	d.before = 0
	for utf8.FullRune(rest) {
		r, size := utf8.DecodeRune(rest)
		text = utf8.AppendRune(text, r)
		rest = rest[size:]
		if held -= size; held >= 0 { // a byte of earlier ids that begins no character
			d.before = len(text)
		}
	}
	d.pending = d.pending[:copy(d.pending, rest)]
	return string(text)
}

// Before returns how many bytes of the text that Next has just returned stand before what its own
// id adds: U+FFFD for bytes of earlier ids, which that id has not made a character.
func (d *StreamDecoder) Before() int { return d.before }

// Flush ends the text: it returns U+FFFD for each byte held back, and resets the decoder.
func (d *StreamDecoder) Flush() string {
	text := string([]rune(string(d.pending)))
	d.pending = d.pending[:0]
	return text
}
