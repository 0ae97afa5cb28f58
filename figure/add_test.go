package figure

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestRowWritesValues: texts stay as they are, numbers get four digits, and counts keep all digits.
func TestRowWritesValues(t *testing.T) {
	var table Table
	table.Row("a", 0.123456, 123456, fmt.Stringer(word("b")), int64(7))
	assert.Equal(t, [][]string{{"a", "0.1235", "123456", "word b", "7"}}, table.Rows)
}

type word string

func (w word) String() string { return "word " + string(w) }

// TestAdd: figures built by Add equal literals; without error bars there are none.
func TestAdd(t *testing.T) {
	var s Series
	s.Add(1, 2)
	assert.Equal(t, Series{X: []float64{1}, Y: []float64{2}}, s)
	s = Series{}
	s.Add(1, 2, 0.5)
	assert.Equal(t, Series{X: []float64{1}, Y: []float64{2}, Error: []float64{0.5}}, s)

	l := Lines{Series: []Series{{Name: "a"}, {Name: "b"}}}
	l.AddNamed("first", 3, 4)
	l.AddNamed("second", 5, 6)
	assert.Equal(t, Lines{XNames: []string{"first", "second"}, Series: []Series{{Name: "a", X: []float64{0, 1}, Y: []float64{3, 5}}, {Name: "b", X: []float64{0, 1}, Y: []float64{4, 6}}}}, l)

	var b Bars
	b.Add("x", 1, 0.25)
	assert.Equal(t, Bars{Labels: []string{"x"}, Values: []float64{1}, Errors: []float64{0.25}}, b)
	b = Bars{Series: []BarSeries{{Name: "a"}, {Name: "b"}}}
	b.AddGroup("x", 1, 2)
	assert.Equal(t, Bars{Labels: []string{"x"}, Series: []BarSeries{{"a", []float64{1}}, {"b", []float64{2}}}}, b)

	var h Heatmap
	h.Add("row", []float64{1, 2})
	assert.Equal(t, Heatmap{Rows: []string{"row"}, Values: [][]float64{{1, 2}}}, h)
}

// TestSet: rows and columns appear in the order in which they are first named; a value that was
// never set is NaN.
func TestSet(t *testing.T) {
	var h Heatmap
	h.Set("a", "x", 1)
	h.Set("b", "y", 2)
	h.Set("a", "x", 3)
	assert.Equal(t, []string{"a", "b"}, h.Rows)
	assert.Equal(t, []string{"x", "y"}, h.Columns)
	assert.Equal(t, "[[3 NaN] [NaN 2]]", fmt.Sprint(h.Values))
}
