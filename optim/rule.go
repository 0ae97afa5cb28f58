package optim

import (
	"slices"

	"github.com/residua-go/residua/graph/kernel"
)

// Rule turns gradients into updates: AdamW, SGD or Muon, each in a file with what it keeps of a
// parameter between steps. The part of that name gives it to parameters.
type Rule interface {
	String() string // its name

	// state names what is kept of a parameter: of its moments the first, the first two, or none.
	state() []string
	// open refuses parameters that the rule cannot update, and prepares for the others.
	open(rows []*Row) error
	// widthDivisor is what muP divides the rate by.
	widthDivisor(ratio float64) (float64, error)
	// update changes weights and state.
	update(rows []*Row, n now)
}

// now is what changes from step to step.
type now struct {
	pool      *kernel.Pool
	factor    float64 // of the schedule
	gradScale float64 // of the stored gradients: clipping, accumulation
	step      int     // this update's number, from 1
}

// group is the parameters of one rule.
type group struct {
	rule Rule
	rows []*Row
}

// openGroups collects the rows of each rule, in the order of the store's parameters.
func (o *Optimizer) openGroups() error {
	for i := range o.rows {
		r := &o.rows[i]
		at := slices.IndexFunc(o.groups, func(g group) bool { return g.rule == r.Rule })
		if at < 0 {
			at = len(o.groups)
			o.groups = append(o.groups, group{rule: r.Rule})
		}
		o.groups[at].rows = append(o.groups[at].rows, r)
	}
	for _, g := range o.groups {
		if err := g.rule.open(g.rows); err != nil {
			return err
		}
	}
	return nil
}
