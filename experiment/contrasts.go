package experiment

import (
	"maps"
	"slices"
	"strings"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/stats"
)

// checkNames returns an error unless contrasts names cells of the report and seeds_of names
// series.
func (p *Plan) checkNames() error {
	for _, name := range slices.Sorted(maps.Keys(p.Config.SeedsOf)) {
		switch n := p.Config.SeedsOf[name]; {
		case !slices.ContainsFunc(p.series, func(s Series) bool { return s.Name == name }):
			return p.Config.where.Errorf("seeds_of", "want series of this experiment, got %q", name)
		case n < 1:
			return p.Config.where.Errorf("seeds_of."+name, "want >= 1, got %d", n)
		}
	}
	for i, pair := range p.Config.Contrasts {
		if len(pair) != 2 {
			return p.Config.where.Errorf(index("contrasts", i), "want two names, as in [rmt, transformer], got %d", len(pair))
		}
		for _, name := range pair {
			if !slices.ContainsFunc(p.cells, func(c *cell) bool { return c.Name() == name }) {
				return p.Config.where.Errorf(index("contrasts", i), "want two of %s, got %q", strings.Join(p.cellNames(), ", "), name)
			}
		}
	}
	return nil
}

// cellNames lists the names of cells in tables.
func (p *Plan) cellNames() []string {
	var names []string
	for _, c := range p.cells {
		names = append(names, c.Name())
	}
	return names
}

// contrastsTable tests for each contrast whether the first cell ends with the lower loss than the
// second, seed by seed.
func (r *Results) contrastsTable() figure.Table {
	t := figure.NewTable("Contrasts: loss of the first minus the second, same seed; p of the sign-flip test that it is below 0, and by Holm over all of them",
		"lrrrrr",
		"", "pairs", "difference (nats)", "95% (BCa bootstrap)", "p", "p, Holm")
	var p []float64
	for _, pair := range r.plan.Config.Contrasts {
		differences := pairedDifferences(r.named(pair[1]), r.named(pair[0]))
		if len(differences) == 0 {
			continue
		}
		low, high := stats.BootstrapMean(differences)
		p = append(p, stats.SignFlip(differences))
		t.Row(strings.Join(pair, " - "), len(differences), estimate(differences, "%+.4f"), interval(low, high, "%+.4f"), number(p[len(p)-1], "%.2g"), "-")
	}
	if len(p) < len(r.plan.Config.Contrasts) { // Holm needs all p-values
		return t
	}
	for i, adjusted := range stats.Holm(p) {
		t.Rows[i][len(t.Header)-1] = number(adjusted, "%.2g")
	}
	return t
}

// named returns the cell with a name.
func (r *Results) named(name string) Result {
	return r.all[slices.IndexFunc(r.all, func(c Result) bool { return c.Name() == name })]
}
