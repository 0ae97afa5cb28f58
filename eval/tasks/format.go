package tasks

import (
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/spelling"
)

// kind is what a model is asked of each document.
type kind int

const (
	multipleChoice kind = iota // which of several continuations is likeliest
	lastWord                   // the likelihood of a text's last word, and whether it is what the model would say
	rolling                    // the likelihood of a whole page
)

// Format is how the lines of a task file are read.
type Format struct {
	Name   string
	Fields string // of a line, for people
	kind   kind
	norm   bool // with a multiple choice: acc_norm, too
	read   func(*object) Document
}

// Formats lists the formats: lm-eval's three kinds of task with fields of their own names, then the tasks.
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

// FormatNamed returns a format by its name.
func FormatNamed(name string) (Format, error) {
	var names []string
	for _, f := range Formats() {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return Format{}, errors.Errorf("want one of %s, got %q%s", strings.Join(names, ", "), name, spelling.Hint(name, names))
}

// Document is what a model is asked of one line of a task file.
type Document struct {
	Line    int    // of the file
	Pairs   []Pair // multiple choice: one a choice; last word: one; rolling: none
	Gold    int    // multiple choice: the index of the right one
	Choices []string
	Page    string // rolling: the text
	Solved  string // the document with the right answer, as an example for another
}

// Pair is a text and what may follow it.
type Pair struct{ Context, Continuation string }

// before puts the examples' text before a document.
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
