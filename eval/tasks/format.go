package tasks

import (
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/spelling"
)

// kind says what a model is asked about each document.
type kind int

const (
	multipleChoice kind = iota // which of several continuations is the likeliest
	lastWord                   // the likelihood of a text's last word, and whether the model would say it
	rolling                    // the likelihood of a whole page
)

// Format says how to read the lines of a task file.
type Format struct {
	Name   string
	Fields string // fields of a line, for people to read
	kind   kind
	norm   bool // for multiple choice: report acc_norm as well
	read   func(*object) Document
}

// Formats lists the formats: lm-eval's three kinds of task with generic field names, followed by
// the known tasks.
func Formats() []Format {
	return []Format{
		{"multiple_choice", "query, choices (a list), gold (index of the right one)", multipleChoice, true, readMultipleChoice},
		{"last_word", "text", lastWord, false, readLastWord},
		{"rolling", "page", rolling, false, readRolling},
		{"hellaswag", "activity_label, ctx_a, ctx_b, endings (a list), label (index of the right one)", multipleChoice, true, readHellaSwag},
		{"arc", "question, choices {text (a list), label (a list)}, answerKey", multipleChoice, true, readARC},
		{"piqa", "goal, sol1, sol2, label (0 or 1)", multipleChoice, true, readPIQA},
		{"winogrande", `sentence (with a "_"), option1, option2, answer (1 or 2)`, multipleChoice, false, readWinoGrande},
		{"lambada", "text", lastWord, false, readLastWord},
		{"openbookqa", "question_stem, choices {text (a list), label (a list)}, answerKey", multipleChoice, true, readOpenBookQA},
	}
}

// formatNamed returns the format with that name.
func formatNamed(name string) (Format, error) {
	var names []string
	for _, f := range Formats() {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return Format{}, errors.Errorf("want one of %s, got %q%s", strings.Join(names, ", "), name, spelling.Hint(name, names))
}

// Document holds what a model is asked about one line of a task file.
type Document struct {
	Line    int    // line number in the file
	Pairs   []Pair // multiple choice: one for each choice; last word: one; rolling: none
	Gold    int    // multiple choice: the index of the right choice
	Choices []string
	Page    string // rolling: the text
	Solved  string // the document with its right answer, used as an example before another document
}

// Pair is a text and a possible continuation.
type Pair struct{ Context, Continuation string }

// before returns the document with examples put before the context of each pair.
func (d Document) before(examples string) Document {
	pairs := make([]Pair, len(d.Pairs))
	for i, p := range d.Pairs {
		pairs[i] = Pair{examples + p.Context, p.Continuation}
	}
	d.Pairs = pairs
	return d
}

// choice is a question whose answers follow it after a space.
func choice(question string, answers []string, gold int) Document {
	d := Document{Choices: answers, Gold: gold}
	for i, answer := range answers {
		d.Pairs = append(d.Pairs, Pair{question, " " + answer})
		if i == gold {
			d.Solved = question + " " + answer
		}
	}
	return d
}
