package generate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/generate"
)

// table writes the log probabilities of tokens, one token a line, with the likeliest tokens at the
// same position.
func (s *sampling) table(tokens []generate.Token) error {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "\ntoken\tid\tln p\tp\tlikeliest\n")
	for _, t := range tokens {
		var likeliest []string
		for _, top := range t.Top {
			likeliest = append(likeliest, fmt.Sprintf("%s %.3f", s.label(top), math.Exp(top.LogProb)))
		}
		fmt.Fprintf(w, "%s\t%d\t%.4f\t%.3f\t%s\n", s.label(t), t.ID, t.LogProb, math.Exp(t.LogProb), strings.Join(likeliest, "  "))
	}
	_ = w.Flush() // a strings.Builder never fails
	return s.out.Print(text.String())
}

// label returns a token's quoted text, or its id if there is no tokenizer.
func (s *sampling) label(t generate.Token) string {
	switch {
	case s.tokenizer != nil && slices.Contains(data.EOS(s.tokenizer), t.ID):
		return "(end)"
	case t.Text == "":
		return strconv.Itoa(int(t.ID))
	}
	return strconv.Quote(t.Text)
}
