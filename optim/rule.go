package optim

import (
	"slices"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// Rule turns gradients into updates. AdamW, SGD and Muon each have a file; other modules may add
// rules. Use gives a rule to parameters.
type Rule interface {
	// String returns the name with the settings, as in "Muon with momentum 0.95": the first word
	// names the rule.
	String() string
	// State returns names for what the rule keeps in a parameter's Moment1 and Moment2: two
	// names, one, or none. A checkpoint has tensors with these names, so no two rules should
	// share one.
	State() []string
	// Open refuses parameters that the rule cannot update, and prepares for the others.
	Open(rows []*Row) error
	// WidthDivisor returns the number by which muP divides the rate of a parameter whose width is
	// ratio times the base width.
	WidthDivisor(ratio float64) (float64, error)
	// Update changes the weights and the state of all parameters that have the rule. If several
	// ranks share the work, each rank updates some of the parameters or, with a Divisible rule, a
	// range of each parameter's entries.
	Update(rows []*Row, n Now)
}

// Now holds what changes from step to step.
type Now struct {
	Pool      *kernel.Pool    // of the optimizer's threads
	Factor    float64         // of the schedule; times the row's Rate and Decay
	GradScale float64         // multiplies the stored gradients: clipping, accumulation
	Step      int             // this update's number, from 1
	Precision graph.Precision // of matrix products
}

// Use gives a rule to all parameters of an optimizer or of a Group.
func Use(r Rule) Part {
	return func(c *composer) error {
		for _, row := range c.rows {
			row.Rule = r
		}
		return nil
	}
}

// group holds the parameters that share a rule.
type group struct {
	rule Rule
	rows []*Row
}

// openGroups collects the rows of each rule that have entries of this rank, in the order of the
// store's parameters.
func (o *Optimizer) openGroups() error {
	for i := range o.rows {
		r := &o.rows[i]
		at := slices.IndexFunc(o.groups, func(g group) bool { return g.rule == r.Rule })
		if at < 0 {
			at = len(o.groups)
			o.groups = append(o.groups, group{rule: r.Rule})
		}
		if r.From < r.To {
			o.groups[at].rows = append(o.groups[at].rows, r)
		}
	}
	o.groups = slices.DeleteFunc(o.groups, func(g group) bool { return len(g.rows) == 0 })
	for _, g := range o.groups {
		if err := g.rule.Open(g.rows); err != nil {
			return err
		}
	}
	return nil
}
