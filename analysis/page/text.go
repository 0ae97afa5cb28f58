package page

import (
	"slices"
	"strings"

	"github.com/residua-go/residua/figure"
)

// names returns labels for names; nil stays nil.
func names(texts []string) []string { return each(texts, figure.Name) }

// tokens returns labels for tokens.
func tokens(texts []string) []string { return each(texts, figure.Label) }

func each(texts []string, rewrite func(string) string) []string {
	rewritten := slices.Clone(texts)
	for i, text := range rewritten {
		rewritten[i] = rewrite(text)
	}
	return rewritten
}

// paragraphs returns the parts of a text between empty lines.
func paragraphs(text string) []string {
	var parts []string
	for part := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n") {
		if words := strings.Fields(part); len(words) > 0 {
			parts = append(parts, figure.Visible(strings.Join(words, " ")))
		}
	}
	return parts
}

// visibleLines makes invisible characters visible, except line breaks and tabs.
func visibleLines(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\t", "    "), "\n")
	return strings.Join(each(lines, figure.Visible), "\n")
}

func namedSeries(series []figure.Series) []figure.Series {
	named := slices.Clone(series)
	for i := range named {
		named[i].Name = figure.Name(named[i].Name)
	}
	return named
}

func namedNodes(nodes []figure.WiringNode) []figure.WiringNode {
	named := slices.Clone(nodes)
	for i := range named {
		named[i].Name = figure.Name(named[i].Name)
	}
	return named
}
