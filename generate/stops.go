package generate

import "strings"

// stops looks for stop strings in a text that arrives in pieces, wherever the pieces
// begin and end. What may still become a stop string is held back.
type stops struct {
	strings []string
	held    string // the end of the text so far: a proper prefix of a stop string, the longest
}

// next takes a piece and returns the text that is certain to stand before any stop
// string. found tells that one is complete; of several, the first to be complete counts,
// and the text ends before it.
func (s *stops) next(piece string) (text string, found bool) {
	text = s.held + piece
	s.held = ""
	start, end := -1, len(text)+1
	for _, stop := range s.strings {
		at := strings.Index(text, stop)
		if at >= 0 && (at+len(stop) < end || at+len(stop) == end && at < start) {
			start, end = at, at+len(stop)
		}
	}
	if start >= 0 {
		return text[:start], true
	}
	certain := len(text) - s.begun(text)
	s.held = text[certain:]
	return text[:certain], false
}

// flush ends the text: it returns what was held back.
func (s *stops) flush() string {
	text := s.held
	s.held = ""
	return text
}

// begun returns the length of the longest end of text that begins a stop string.
func (s *stops) begun(text string) int {
	longest := 0
	for _, stop := range s.strings {
		for n := min(len(stop)-1, len(text)); n > longest; n-- {
			if strings.HasSuffix(text, stop[:n]) {
				longest = n
			}
		}
	}
	return longest
}
