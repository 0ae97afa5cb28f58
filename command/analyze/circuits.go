package analyze

import (
	"cmp"
	"flag"
	"slices"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

func circuits(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisCircuits,
		Summary: "QK and OV circuits of heads: eigenvalues, copying scores, composition",
		Example: []string{
			"go run ./cmd/analyze circuits -checkpoint runs/quickstart",
			"go run ./cmd/analyze circuits -checkpoint runs/quickstart -layer 1 -head 3 -out /tmp/circuits",
		},
		Notes: []string{
			"Circuits are those of Elhage et al. 2021, norms folded into the weights. With -layer and",
			"-head, that head's circuits are shown alone, with their eigenvalues.",
		},
	}, &circuitsCall{})
}

type circuitsCall struct {
	mixing
	place
	vocabulary bool
	top        int
}

func (c *circuitsCall) flags(flags *flag.FlagSet) {
	c.mixing.flags(flags)
	c.place.flags(flags)
	flags.BoolVar(&c.vocabulary, "full", true, "take the circuits from token to token, too; -full=false: don't, for large models")
	flags.IntVar(&c.top, "top", 20, "list `N` heads, those that copy most first")
}

func (c *circuitsCall) report(s *subject) (*report, error) {
	if err := c.check(s.Spec); err != nil {
		return nil, err
	}
	if err := checkTop(c.top); err != nil {
		return nil, err
	}
	r, run, err := c.begin(s, "Circuits of heads")
	if err != nil {
		return nil, err
	}
	found, err := analysis.FindCircuits(s.Store, s.Spec, analysis.CircuitOptions{Run: run, WithoutVocabulary: !c.vocabulary})
	if err != nil {
		return nil, err
	}
	if c.layer != all && c.head != all {
		head, err := found.Head(c.layer, c.head)
		if err != nil {
			return nil, err
		}
		r.add("head", head.Name(), "The eigenvalues of a head's circuits: OV says what it writes of what it attends to, QK what it attends to.", head)
		return r, nil
	}
	p := r.add("circuits", "Circuits", circuitsText(found), found)
	p.table = c.table(p.table, found.Heads)
	composition, err := analysis.Compose(s.Store, s.Spec, run)
	if err != nil || len(composition.Pairs) == 0 {
		return r, err
	}
	r.add("composition", "Composition", "How much of what a head writes a head of a later layer reads: as queries, as keys, as values.", composition)
	return r, nil
}

// circuitsText says what the scores of circuits mean.
func circuitsText(c *analysis.Circuits) string {
	text := "OV says what a head writes of what it attends to, QK what it attends to. A copying score of 1: whatever a head attends to becomes likelier."
	if len(c.Heads) > 0 && c.Heads[0].OV.Multiplicity > 1 {
		text += "\n\nA head with keys reads by one key and writes by one key, and leaves values as they are: all eigenvalues of OV, or of QK, are the same product of two keys, " +
			"and their score is its sign, 1 or -1. The full circuits, from token to token, tell more."
	}
	return text
}

// table lists the chosen heads, those that copy most first.
func (c *circuitsCall) table(like figure.Table, heads []analysis.HeadCircuits) figure.Table {
	chosen := slices.DeleteFunc(slices.Clone(heads), func(h analysis.HeadCircuits) bool { return !c.holds(h.Layer, h.Head) })
	slices.SortStableFunc(chosen, func(a, b analysis.HeadCircuits) int { return cmp.Compare(copying(b), copying(a)) })
	t := figure.Table{Title: like.Title, Header: like.Header, Align: like.Align}
	for _, h := range chosen[:min(c.top, len(chosen))] {
		row := []string{h.Name(), number(h.OV.Score), number(h.QK.Score), "", ""}
		if h.FullOV != nil {
			row[3], row[4] = number(h.FullOV.Score), number(h.FullQK.Score)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// copying is a head's copying score, or that of OV alone without the full circuits.
func copying(h analysis.HeadCircuits) float64 {
	if h.FullOV != nil {
		return h.FullOV.Score
	}
	return h.OV.Score
}
