package explore

import (
	"fmt"
	"maps"

	"gonum.org/v1/gonum/floats"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
)

// Change describes a change to an activation: Scale multiplies the chosen entries, or Add adds a
// direction to them; one of the two must be set.
type Change struct {
	Activation string `yaml:"activation" json:"activation"` // "blocks.2.attention.heads"
	// indices for some of its axes except the token's: {"head": 3}; none: all entries
	At     map[string]int `yaml:"at" json:"at,omitempty"`
	Tokens []int          `yaml:"tokens" json:"tokens,omitempty"`                    // the first and the last position; nil: all
	Scale  *float64       `yaml:"scale" min:"-1e6" max:"1e6" json:"scale,omitempty"` // 0: off
	Add    *Direction     `yaml:"add" json:"add,omitempty"`
}

// Direction is what steering adds, multiplied by Times: the given values, or the difference between
// the activation's entries at the ends of two texts (Turner et al. 2023, "Activation Addition").
type Direction struct {
	Times  float64   `yaml:"times" min:"-1e6" max:"1e6" json:"times"`
	Values []float64 `yaml:"values" json:"values,omitempty"` // one for each chosen entry of a token
	Plus   string    `yaml:"plus" json:"plus,omitempty"`
	Minus  string    `yaml:"minus" json:"minus,omitempty"` // "": Plus alone
}

// changesMost is how many changes one request may make.
const changesMost = 64

// change is a Change that has been checked.
type change struct {
	Change
	site      cache.Activation
	direction []float64 // what to add
}

// changes checks a request's changes and computes their directions, for which it may run the
// model.
func (e *Explorer) changes(asked []Change) ([]change, error) {
	if len(asked) > changesMost {
		return nil, check.Value("changes", fmt.Sprintf("at most %d", changesMost), len(asked))
	}
	var all []change
	for i, c := range asked {
		checked, err := e.change(c)
		if err != nil {
			return nil, &statusError{statusOf(err), fmt.Sprintf("changes[%d]: %s", i, err)}
		}
		all = append(all, checked)
	}
	return all, nil
}

func (e *Explorer) change(c Change) (change, error) {
	site, known := e.sites[c.Activation]
	if !known {
		var names []string
		for _, s := range e.about.Sites {
			names = append(names, s.Name)
		}
		return change{}, check.Unknown("activation", c.Activation, names)
	}
	checked := change{Change: c, site: site}
	for axis, index := range c.At {
		i := site.Axis(axis)
		if i < 0 || axis == graph.TokenAxis {
			return checked, check.Value("at", fmt.Sprintf("axes of %s, %q", site.Name, site.Axes), axis)
		}
		if err := check.Index(axis, index, site.Shape[i]); err != nil {
			return checked, err
		}
	}
	if t := c.Tokens; t != nil && (len(t) != 2 || t[0] < 0 || t[1] < t[0] || t[1] >= e.options.Tokens || site.Axis(graph.TokenAxis) < 0) {
		return checked, check.Value("tokens", fmt.Sprintf("two positions of 0 to %d of an activation that has tokens", e.options.Tokens-1), t)
	}
	switch {
	case (c.Scale == nil) == (c.Add == nil):
		return checked, check.Value("change", "either scale or add", "both or none")
	case c.Scale != nil:
		return checked, nil
	}
	var err error
	checked.direction, err = e.direction(checked)
	return checked, err
}

// direction returns the direction that a change adds, not yet multiplied by Times.
func (e *Explorer) direction(c change) ([]float64, error) {
	chosen := 1 // entries of one token
	for i, axis := range c.site.Axes {
		if _, at := c.At[axis]; !at && axis != graph.TokenAxis {
			chosen *= c.site.Shape[i]
		}
	}
	switch a := c.Add; {
	case len(a.Values) > 0 && (a.Plus != "" || a.Minus != ""):
		return nil, check.Value("add", "values or texts", "both")
	case len(a.Values) > 0 && len(a.Values) != chosen:
		return nil, check.Value("values", fmt.Sprintf("%d, one for each chosen entry of a token", chosen), len(a.Values))
	case len(a.Values) > 0:
		return a.Values, nil
	case a.Plus == "":
		return nil, check.Value("add", "values, or a text in plus", "none")
	}
	direction, err := e.lastOf(c, "plus", c.Add.Plus)
	if err != nil || c.Add.Minus == "" {
		return direction, err
	}
	minus, err := e.lastOf(c, "minus", c.Add.Minus)
	if err != nil {
		return nil, err
	}
	floats.Sub(direction, minus)
	return direction, nil
}

// lastOf returns the chosen entries at the last token of a text.
func (e *Explorer) lastOf(c change, field, text string) ([]float64, error) {
	ids, err := e.encode(field, text, nil, nil)
	if err != nil {
		return nil, err
	}
	run, err := e.run(ids, []string{c.Activation}, nil)
	if err != nil {
		return nil, err
	}
	a, err := run.Get(c.Activation)
	if err != nil {
		return nil, err
	}
	return a.OfToken(c.At, len(ids)-1)
}

// at returns the change, restricted to some entries, as an Intervention.
func (c change) at(at cache.At) cache.Intervention {
	if c.Scale != nil {
		return cache.Scale(c.Activation, at, *c.Scale)
	}
	return cache.Steer(c.Activation, at, c.direction, c.Add.Times)
}

// of returns the change for a row of tokens that begins at position first of the text.
func (c change) of(first, tokens int) []cache.Intervention {
	if c.Tokens == nil {
		return []cache.Intervention{c.at(c.At)}
	}
	var all []cache.Intervention
	for i := max(0, c.Tokens[0]-first); i <= min(c.Tokens[1]-first, tokens-1); i++ {
		at := cache.At{graph.TokenAxis: i}
		maps.Copy(at, c.At)
		all = append(all, c.at(at))
	}
	return all
}

// interventions returns the changes for a run of a row with that many tokens.
func interventions(all []change, row int) []cache.Intervention {
	var replace []cache.Intervention
	for _, c := range all {
		replace = append(replace, c.of(0, row)...)
	}
	return replace
}

// changer makes changes while a text is generated. For each activation it counts the tokens
// that have passed.
type changer struct {
	sites   map[string]cache.Activation
	changes []change
	seen    map[string]int
}

// hooks returns hooks for all activations that any of the changes concerns.
func (c *changer) hooks(all []change) graph.Hooks {
	hooks := graph.Hooks{}
	for _, one := range all {
		hooks[one.Activation] = c.apply
	}
	return hooks
}

// apply changes an activation, [tokens, ...] or the same for all tokens.
func (c *changer) apply(name string, x *tensor.Dense) error {
	site, tokens, first := c.sites[name], x.Shape()[0], c.seen[name]
	if len(c.changes) == 0 {
		return nil
	}
	var all []cache.Intervention
	for _, change := range c.changes {
		all = append(all, change.of(first, tokens)...)
	}
	c.seen[name] = first + tokens
	return cache.ApplyAll(name, site.Axes, x, all...)
}
