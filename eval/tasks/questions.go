package tasks

import (
	"slices"
	"strings"
)

// readARC reads a line of the AI2 Reasoning Challenge (Clark et al. 2018), easy or challenge.
func readARC(o *object) Document {
	question := o.text("question")
	answers, gold := o.lettered()
	return choice("Question: "+question+"\nAnswer:", answers, gold)
}

// readOpenBookQA reads a line of OpenBookQA (Mihaylov et al. 2018): the question is the unchanged
// stem.
func readOpenBookQA(o *object) Document {
	stem := o.text("question_stem")
	answers, gold := o.lettered()
	return choice(stem, answers, gold)
}

// lettered reads answers labelled by letters or numbers, and the index of the right one.
func (o *object) lettered() (answers []string, gold int) {
	c := o.object("choices")
	answers, labels := c.choices("text"), c.texts("label")
	if len(labels) != len(answers) {
		c.refuse("label", "want %d, one a text, got %d", len(answers), len(labels))
	}
	o.take("choices", c)
	key := strings.TrimLeftFunc(o.text("answerKey"), isSpace)
	if gold = slices.Index(labels, key); gold < 0 {
		o.refuse("answerKey", "want one of %q, got %q", labels, key)
	}
	return answers, gold
}

// readPIQA reads a line of PIQA (Bisk et al. 2020).
func readPIQA(o *object) Document {
	answers := []string{o.filled("sol1"), o.filled("sol2")}
	return choice("Question: "+o.text("goal")+"\nAnswer:", answers, o.index("label", len(answers)))
}

// readWinoGrande reads a line of WinoGrande (Sakaguchi et al. 2020). Each option replaces the "_"
// in the context, and the rest of the sentence is what is scored (partial scoring, Trinh & Le
// 2018).
func readWinoGrande(o *object) Document {
	sentence, options := o.text("sentence"), []string{o.filled("option1"), o.filled("option2")}
	answer := o.number("answer", 1, len(options))
	before, after, found := strings.Cut(sentence, "_")
	if !found {
		o.refuse("sentence", `want a "_" where the option goes, got %q`, sentence)
	}
	d := Document{Choices: options, Gold: answer - 1}
	rest := " " + strings.TrimFunc(after, isSpace)
	for i, option := range options {
		d.Pairs = append(d.Pairs, Pair{before + option, rest})
		if i == d.Gold {
			d.Solved = before + option + rest
		}
	}
	return d
}
