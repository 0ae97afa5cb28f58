package experiment

import (
	"github.com/pkg/errors"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/stats"
)

// exponents compares the exponents of the series' scaling laws. The notes say which laws could not
// be fitted, and which sizes the laws leave out.
func (r *Results) exponents() (t figure.Table, notes []string) {
	t = figure.NewTable("Exponents: power laws above an irreducible loss that all series share, loss = E + A x^-B, and with an E of 0; intervals by a "+
		"bootstrap over seeds",
		"llrrrrrr", "series", "x", "E", "95%", "A", "B", "B minus the first one's", "99%")
	for _, a := range axes() {
		for _, above := range []bool{true, false} {
			if err := r.addExponents(&t, a, above); err != nil {
				notes = append(notes, err.Error())
			}
		}
	}
	for _, c := range r.cells {
		if len(c.losses()) == 0 {
			notes = append(notes, c.Name()+": all runs diverged, and the laws leave it out.")
		}
	}
	return t, notes
}

// addExponents adds a row for each series. All series share one law, above an irreducible loss or,
// if above is false, above 0. It returns an error if the law cannot be fitted.
func (r *Results) addExponents(t *figure.Table, a axis, above bool) error {
	var curves [][]stats.Runs
	for _, series := range r.plan.series {
		var curve []stats.Runs
		for _, c := range r.of(series.Name) {
			if runs := (stats.Runs{X: c.values(a.of), Y: c.losses()}); len(runs.Y) > 0 {
				curve = append(curve, runs)
			}
		}
		curves = append(curves, curve)
	}
	fit, ok := stats.FitShared(curves, above)
	ofE := "fixed"
	if above {
		ofE = "fitted"
	}
	if !ok {
		return errors.Errorf("Exponents over %s, E %s: no fit: want two different values in each series, and more sizes in all than the law has parameters.", a.name,
			ofE)
	}
	e, eLow, eHigh := fit.Interval(func(l stats.SharedLaw) float64 { return l.E }, 0.95)
	if above {
		ofE = interval(eLow, eHigh, "%.3g")
	}
	for i, series := range r.plan.series {
		difference, low, high := fit.Interval(func(l stats.SharedLaw) float64 { return l.Laws[i].B - l.Laws[0].B }, stats.DifferenceShare)
		larger, ofLarger := "-", "-"
		if i > 0 {
			larger, ofLarger = number(difference, "%+.4f"), interval(low, high, "%+.4f")
		}
		t.Row(series.Name, a.name, number(e, "%.3f"), ofE, number(fit.Laws[i].A, "%.4g"), number(fit.Laws[i].B, "%.4f"), larger, ofLarger)
	}
	return nil
}
