package tasks

import "strings"

// readMultipleChoice reads {query, choices, gold}.
func readMultipleChoice(o *object) Document {
	query, choices := o.text("query"), o.choices("choices")
	return choice(query, choices, o.index("gold", len(choices)))
}

// readLastWord reads {text}, as in LAMBADA (Paperno et al. 2016): the context is the text up to its
// last space. A solved text has two spaces there, because lm-eval 0.4.13 writes its examples like
// this.
func readLastWord(o *object) Document {
	text := o.filled("text")
	cut := max(0, strings.LastIndexByte(text, ' '))
	context, word := text[:cut], strings.TrimPrefix(text[cut:], " ")
	return Document{Pairs: []Pair{{context, " " + word}}, Solved: context + "  " + word}
}

// readRolling reads {page}.
func readRolling(o *object) Document { return Document{Page: o.text("page")} }
