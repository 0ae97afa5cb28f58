package memory

import (
	"fmt"
	"slices"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/figure"
)

// Table lists the coherence of each site's keys, and of all keys together.
func (m *KeyMemory) Table() figure.Table {
	t := figure.NewTable(fmt.Sprintf("the model's keys as those of a memory, Dk = %d", m.Dk), "llrrrrrrr",
		"site", "way", "keys", "largest |cosine|", "of random keys", "Welch bound", "error read with the same keys", "of random keys", "least")
	t.Note = "largest |cosine|: of two of these keys; of random keys: of two of as many random ones; Welch bound: the least\n" +
		"that it can be. error: the mean squared error, relative to the value, if each key stores a value and all are\n" +
		"read again; of random keys: with as many random ones; least: the smallest error possible with this many keys."
	for _, s := range append(slices.Clone(m.Sets), m.Writes, m.Reads) {
		t.Row(s.name(), analysis.Way(s.Reads), s.Keys, s.Max, s.RandomMax, s.Welch, s.Error, s.Random, s.Least)
	}
	return t
}

func (s KeySet) name() string {
	if s.Site == "" {
		return "all"
	}
	return s.Site
}

// mappedKeys is the number of pairs of keys up to which a figure shows each.
const mappedKeys = 40000

// Figures shows the crosstalk between sites, in a small model also between all keys, and the error
// that each site's keys would have as the keys of a memory.
func (m *KeyMemory) Figures() []figure.Figure {
	figures := []figure.Figure{m.siteMap()}
	if m.Writes.Keys*m.Reads.Keys <= mappedKeys {
		figures = append(figures, m.keyMap())
	}
	return append(figures, m.errorLines())
}

// siteMap shows how far Ratio is from 1, writers by readers.
func (m *KeyMemory) siteMap() figure.Heatmap {
	h := figure.Heatmap{Title: "Crosstalk: mean squared cosine of keys x Dk, less 1 (0: random keys)", XLabel: "read by", YLabel: "written by", Diverging: true}
	for _, c := range m.Crosstalk {
		h.Set(c.Writer, c.Reader, c.Ratio-1)
	}
	return h
}

// keyMap shows the cosine of each reading key with each writing key, whichever comes first.
func (m *KeyMemory) keyMap() figure.Heatmap {
	h := figure.Heatmap{Title: "Cosines of reading and writing keys", XLabel: "writing key", YLabel: "reading key", Diverging: true}
	cosines := numerics.Mul(m.together(true), m.together(false).T())
	for _, s := range m.sites {
		if !s.Reads {
			h.Columns = append(h.Columns, s.Names...)
			continue
		}
		for _, name := range s.Names {
			h.Add(name, cosines.RawRowView(len(h.Rows)))
		}
	}
	return h
}

// errorLines draws Error, Random and Least site by site.
func (m *KeyMemory) errorLines() figure.Lines {
	l := figure.NewLines("Error of a memory with each site's writing keys", "site that writes", "|read - v|² / |v|²", "the model's keys", "random keys", "least")
	l.Series[0].Points = true
	for _, s := range m.Sets {
		if !s.Reads {
			l.AddNamed(s.Site, s.Error, s.Random, s.Least)
		}
	}
	return l
}
