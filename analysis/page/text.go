package page

import (
	"slices"
	"strings"

	"github.com/residua-go/residua/analysis/figure"
)

// visible is a text with what is invisible made visible, apart from spaces.
func visible(text string) string {
	words := strings.Split(text, " ")
	for i, word := range words {
		if word != "" {
			words[i] = figure.Label(word)
		}
	}
	return strings.Join(words, " ")
}

// name is the name of a row, column, series or node made visible: spaces at its ends, too, as it
// may be a token.
func name(text string) string {
	inner := strings.Trim(text, " ")
	if inner == "" {
		return strings.Repeat("␣", len(text))
	}
	left := len(text) - len(strings.TrimLeft(text, " "))
	right := len(text) - len(strings.TrimRight(text, " "))
	return strings.Repeat("␣", left) + visible(inner) + strings.Repeat("␣", right)
}

// names are names; nil stays nil.
func names(texts []string) []string { return each(texts, name) }

// tokens are tokens' labels.
func tokens(texts []string) []string { return each(texts, figure.Label) }

func each(texts []string, rewrite func(string) string) []string {
	rewritten := slices.Clone(texts)
	for i, text := range rewritten {
		rewritten[i] = rewrite(text)
	}
	return rewritten
}

// paragraphs are a text's parts between empty lines.
func paragraphs(text string) []string {
	var parts []string
	for part := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n") {
		if words := strings.Fields(part); len(words) > 0 {
			parts = append(parts, visible(strings.Join(words, " ")))
		}
	}
	return parts
}

func namedSeries(series []figure.Series) []figure.Series {
	named := slices.Clone(series)
	for i := range named {
		named[i].Name = name(named[i].Name)
	}
	return named
}

func namedNodes(nodes []figure.WiringNode) []figure.WiringNode {
	named := slices.Clone(nodes)
	for i := range named {
		named[i].Name = name(named[i].Name)
	}
	return named
}
