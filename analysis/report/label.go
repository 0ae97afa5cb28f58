package report

import (
	"fmt"

	"github.com/residua-go/residua/figure"
)

// tokenAxis is the label of a heatmap's axis whose entries are a prompt's tokens.
const tokenAxis = "token"

// LabelTokens names the tokens of a prompt in a part's figures, where an analysis has their
// positions or ids: by texts, and along a heatmap's axes with their positions.
func (p *Part) LabelTokens(m *Model, ids []int32) {
	words := m.words(ids)
	for i, f := range p.Figures {
		switch f := f.(type) {
		case figure.Heatmap:
			if f.XLabel == tokenAxis {
				f.Columns = inWords(f.Columns, words)
			}
			if f.YLabel == tokenAxis {
				f.Rows = inWords(f.Rows, words)
			}
			p.Figures[i] = f
		case figure.Attention:
			if len(f.Tokens) == len(ids) {
				f.Tokens = nil
				for _, t := range m.tokens(ids) {
					f.Tokens = append(f.Tokens, t.Text)
				}
			}
			p.Figures[i] = f
		}
	}
}

// inWords replaces positions by words.
func inWords(labels, words []string) []string {
	replaced := make([]string, len(labels))
	for i, label := range labels {
		replaced[i] = label
		if i < len(words) && label == fmt.Sprint(i) {
			replaced[i] = words[i]
		}
	}
	return replaced
}
