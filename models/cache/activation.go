package cache

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models/check"
)

// Activation is a named tensor of one run. Its first axis is graph.TokenAxis, batch*seq
// tokens, row by row, unless it is the same for all tokens.
type Activation struct {
	Name   string    `json:"name"`
	Axes   []string  `json:"axes"`   // a name for each axis
	Shape  []int     `json:"shape"`  // a size for each axis
	Values []float64 `json:"values"` // the last axis changes fastest
}

// MarshalJSON writes null for values that are not finite, such as scores of keys that a query does
// not see.
func (a Activation) MarshalJSON() ([]byte, error) {
	values := make([]*float64, len(a.Values))
	for i, v := range a.Values {
		if !math.IsInf(v, 0) && !math.IsNaN(v) {
			values[i] = &a.Values[i]
		}
	}
	type plain Activation
	return json.Marshal(struct {
		plain
		Values []*float64 `json:"values"`
	}{plain(a), values})
}

// At chooses entries of an activation: an index for some of its axes, all entries of the
// others. {"token": 3, "head": 1} is one head of one token; nil is everything.
type At map[string]int

// UnmarshalText reads choices such as head=3,token=5.
func (a *At) UnmarshalText(text []byte) error {
	chosen := At{}
	for _, choice := range strings.Split(string(text), ",") {
		axis, index, _ := strings.Cut(strings.TrimSpace(choice), "=")
		n, err := strconv.Atoi(index)
		if err != nil || axis == "" {
			return errors.Errorf("want AXIS=N,..., such as head=3,token=5, got %q", text)
		}
		chosen[axis] = n
	}
	*a = chosen
	return nil
}

// Axis returns the index of the named axis, or -1 if the activation has no such axis.
func (a Activation) Axis(name string) int { return slices.Index(a.Axes, name) }

// Select returns the chosen entries, in order. It is an error if the activation has no such
// axis or index.
func (a Activation) Select(at At) ([]float64, error) {
	if err := a.check(at); err != nil {
		return nil, err
	}
	var chosen []float64
	a.each(at, func(i int) { chosen = append(chosen, a.Values[i]) })
	return chosen, nil
}

// Token returns the entries of one token. For an activation without a token axis they are the same
// for all tokens.
func (a Activation) Token(token int) ([]float64, error) {
	return a.OfToken(nil, token)
}

// check refuses an axis or an index that the activation does not have.
func (a Activation) check(at At) error {
	for axis, index := range at {
		i := a.Axis(axis)
		if i < 0 {
			return check.Unknown("axis of "+a.Name, axis, a.Axes)
		}
		if err := check.Index(a.Name+": "+axis, index, a.Shape[i]); err != nil {
			return err
		}
	}
	return nil
}

// each calls f with the position of every chosen entry, in order.
func (a Activation) each(at At, f func(i int)) {
	var walk func(axis, offset int)
	walk = func(axis, offset int) {
		if axis == len(a.Shape) {
			f(offset)
			return
		}
		first, end := 0, a.Shape[axis]
		if index, chosen := at[a.Axes[axis]]; chosen {
			first, end = index, index+1
		}
		for i := first; i < end; i++ {
			walk(axis+1, offset*a.Shape[axis]+i)
		}
	}
	walk(0, 0)
}

// OfToken is like Select, for one token. For an activation without a token axis the entries are the
// same for all tokens.
func (a Activation) OfToken(at At, token int) ([]float64, error) {
	chosen := maps.Clone(at)
	if a.Axis(graph.TokenAxis) >= 0 {
		if chosen == nil {
			chosen = At{}
		}
		chosen[graph.TokenAxis] = token
	}
	return a.Select(chosen)
}
