package optim

import (
	"slices"
	"strings"

	"github.com/pkg/errors"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
)

// StateTensor is a tensor that an optimizer keeps for a parameter between steps.
type StateTensor struct {
	Name     string // the parameter's, a dot, and what it is: "norm.moment1"
	Param    *graph.Param
	Value    *tensor.Dense // of this rank's entries; nil: it has none
	From, To int           // the range of these entries
	Pieces   []Piece       // which rank has which entries of the parameter
}

// Cut tells whether several ranks have entries of the parameter. These are then in the order of
// graph.Param.DeviceOrder.
func (s StateTensor) Cut() bool { return len(s.Pieces) > 1 }

// Moments returns how many moments an optimizer with these parts keeps for a parameter, for
// graph.ProgramOptions.
func Moments(parts ...Part) func(*graph.Param) int {
	return func(p *graph.Param) int {
		o := Optimizer{rows: []Row{{Param: p, Rule: &adamW{}}}}
		_ = configure(&o, parts) // New says what is wrong with them
		return len(o.rows[0].Rule.State())
	}
}

// State lists what the optimizer keeps in the Store in addition to the weights: moment1 and moment2
// of each parameter for AdamW, momentum for Muon. Together with Steps it is all that another
// optimizer needs to continue with the same bits.
func (o *Optimizer) State() []StateTensor {
	pieces := map[*graph.Param][]Piece{}
	for _, bucket := range o.buckets {
		for _, p := range bucket {
			pieces[p.Param] = append(pieces[p.Param], p)
		}
	}
	var all []StateTensor
	for _, r := range o.rows {
		values := []*tensor.Dense{r.Param.Moment1, r.Param.Moment2}
		for i, name := range r.Rule.State() {
			all = append(all, StateTensor{r.Param.Name + "." + name, r.Param, values[i], r.From, r.To, pieces[r.Param]})
		}
	}
	return all
}

// CheckState checks the names of another optimizer's State. It returns an error if that optimizer
// had another rule for a parameter, and names both rules. It ignores names that belong to no
// parameter.
func (o *Optimizer) CheckState(names []string) error {
	given := map[string]bool{}
	for _, name := range names {
		given[name] = true
	}
	for _, r := range o.rows {
		var was []string
		is := ruleName(r.Rule)
		for _, rule := range []Rule{&adamW{}, &muon{}, r.Rule} {
			if kept, name := rule.State(), ruleName(rule); len(kept) > 0 && given[r.Param.Name+"."+kept[0]] && !slices.Contains(was, name) {
				was = append(was, name)
			}
		}
		if got := strings.Join(was, " and "); got != is && (got != "" || len(r.Rule.State()) > 0) {
			return errors.Errorf("parameter %q: want the state of %s, got that of %s", r.Param.Name, is, orNone(got))
		}
	}
	return nil
}

// ruleName is the first word of a rule's description.
func ruleName(r Rule) string {
	name, _, _ := strings.Cut(r.String(), " ")
	return name
}

// orNone returns a rule's name, or "no rule" if the name is empty.
func orNone(name string) string {
	if name == "" {
		return "no rule"
	}
	return name
}
