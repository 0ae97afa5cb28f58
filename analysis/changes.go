package analysis

import (
	"math"
	"regexp"
	"slices"
	"strconv"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
)

// Change says how far a parameter W is from its earlier value W0, by Frobenius norms.
type Change struct {
	Name  string  `json:"name"`
	Norm  float64 `json:"norm"`  // |W0|
	Moved float64 `json:"moved"` // |W - W0|
}

// Changes lists the parameters of a model that have changed, in the model's order.
type Changes struct {
	Changed []Change `json:"changed"`
	Same    int      `json:"same"` // number of parameters whose values are the same
}

// Compare returns how the parameters of the model to differ from those of the model from. It
// returns an error unless the two have the same parameters.
func Compare(from, to *graph.Store) (*Changes, error) {
	c := &Changes{}
	for _, p := range from.Params() {
		if to.Param(p.Name) == nil {
			return nil, errors.Errorf("parameter %q: want it in both models, got it in the earlier one alone: compare models of one size", p.Name)
		}
	}
	for _, p := range to.Params() {
		before := from.Param(p.Name)
		switch {
		case before == nil:
			return nil, errors.Errorf("parameter %q: want it in both models, got it in the later one alone: compare models of one size", p.Name)
		case !slices.Equal(before.Shape, p.Shape):
			return nil, errors.Errorf("parameter %q: want it in both models, in one shape, got %v and %v: compare models of one size", p.Name, before.Shape, p.Shape)
		}
		norm, moved, values := 0.0, 0.0, graph.Float64s(p.Value)
		for i, w := range graph.Float64s(before.Value) {
			norm += w * w
			moved += (values[i] - w) * (values[i] - w)
		}
		if moved == 0 {
			c.Same++
			continue
		}
		c.Changed = append(c.Changed, Change{p.Name, math.Sqrt(norm), math.Sqrt(moved)})
	}
	return c, nil
}

// Table lists the changed parameters.
func (c *Changes) Table() figure.Table {
	title := "What has changed (of " + strconv.Itoa(len(c.Changed)+c.Same) + " parameters " + strconv.Itoa(c.Same) + " have not)"
	t := figure.NewTable(title, "lrrr", "weight", "norm", "norm of the change", "share")
	for _, p := range c.Changed {
		t.Row(p.Name, p.Norm, p.Moved, p.Moved/p.Norm)
	}
	return t
}

// Figures returns a map of the shares by block and weight.
func (c *Changes) Figures() []figure.Figure {
	h := figure.Heatmap{Title: "Size of the change over the size of the weight", XLabel: "block", YLabel: "weight"}
	numbered := regexp.MustCompile(`^blocks\.(\d+)\.(.*)$`)
	for _, p := range c.Changed {
		found := numbered.FindStringSubmatch(p.Name)
		if found == nil || p.Norm == 0 {
			continue
		}
		block, _ := strconv.Atoi(found[1]) // digits
		row := slices.Index(h.Rows, found[2])
		if row < 0 {
			row = len(h.Rows)
			h.Rows, h.Values = append(h.Rows, found[2]), append(h.Values, nil)
		}
		for len(h.Values[row]) < block {
			h.Values[row] = append(h.Values[row], math.NaN())
		}
		h.Values[row] = append(h.Values[row], p.Moved/p.Norm)
	}
	width := 0
	for _, row := range h.Values {
		width = max(width, len(row))
	}
	for i, row := range h.Values {
		h.Values[i] = append(row, slices.Repeat([]float64{math.NaN()}, width-len(row))...)
	}
	if len(h.Rows) == 0 {
		return nil
	}
	return []figure.Figure{h}
}
