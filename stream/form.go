package stream

import (
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
)

// Form is how a site fills in the linear form that residual designs share,
//
//	h' = A_res h + B_up F(A_down h)
//
// where h is a token's state as n rows, and F the sublayer with its norm, which takes m
// rows and gives m. A_res is [n, n], A_down [m, n], B_up [n, m].
type Form struct {
	Site   string      `json:"site"` // "blocks.0.attention"
	Res    Coefficient `json:"a_res"`
	Down   Coefficient `json:"a_down"`
	Up     Coefficient `json:"b_up"`
	Beyond []Term      `json:"beyond,omitempty"` // what does not fit the form
	Source string      `json:"source"`           // of the design
}

// FormDescriber is a stream that describes how it fills in the linear form.
type FormDescriber interface {
	Form(at Site) Form
}

// Choice says where a coefficient comes from.
type Choice string

// The choices.
const (
	Fixed     Choice = "fixed"           // the design names the numbers
	Learned   Choice = "learned"         // parameters, the same for all tokens
	Dependent Choice = "input-dependent" // computed from the token's state
)

// Constraint is a property that a coefficient has for any values of its parameters.
type Constraint string

// The constraints; "" is none.
const (
	DoublyStochastic Constraint = "doubly stochastic" // entries >= 0, rows and columns that sum to 1
	WithinOne        Constraint = "in (0, 1)"
	WithinTwo        Constraint = "in (0, 2)"
)

// Coefficient is one of A_res, A_down and B_up.
type Coefficient struct {
	Choice     Choice     `json:"choice"`
	Constraint Constraint `json:"constraint,omitempty"`
	Rows       int        `json:"rows"`
	Columns    int        `json:"columns"`
	Axes       string     `json:"axes"`               // their names, as in "n x n"
	Diagonal   bool       `json:"diagonal,omitempty"` // a factor for each entry
	Parameters []string   `json:"parameters,omitempty"`
	Start      Start      `json:"start"`
}

// Start describes a coefficient at the first step.
type Start struct {
	Text string `json:"text"`
	// Values are the entries, row by row; nil if they are drawn at random.
	Values []float64 `json:"-"`
}

// Term is a part of a stream that does not fit the linear form.
type Term struct {
	Text       string   `json:"text"`
	Parameters []string `json:"parameters,omitempty"`
}

// plainForm returns the form h' = h + F(h): one row, nothing to choose.
func plainForm(at Site, source string) Form {
	one := fixed(1, "1 x 1")
	return Form{Site: at.Name(), Res: one, Down: one, Up: one, Source: source}
}

// coefficient returns a coefficient of that choice, made from the parameters that are not nil.
func (c Choice) coefficient(rows, columns int, axes string, start Start, parameters ...*gorgonia.Node) Coefficient {
	return Coefficient{Choice: c, Rows: rows, Columns: columns, Axes: axes, Parameters: nodeNames(parameters...), Start: start}
}

// diagonal returns a coefficient with a factor for each entry.
func (c Choice) diagonal(rows, columns int, axes string, start Start, parameters ...*gorgonia.Node) Coefficient {
	d := c.coefficient(rows, columns, axes, start, parameters...)
	d.Diagonal = true
	return d
}

// fixed returns the unit matrix of n rows.
func fixed(n int, axes string) Coefficient { return Fixed.coefficient(n, n, axes, identity(n)) }

// identity describes a start at the unit matrix.
func identity(n int) Start {
	s := Start{Text: "I", Values: table(n, n, kronecker)}
	if n == 1 {
		s.Text = "1"
	}
	return s
}

// number describes a start at a number.
func number(x float64) Start { return Start{fmt.Sprintf("%g", x), []float64{x}} }

// even describes a start at the same number x everywhere; text says it in words.
func even(n int, text string, x float64) Start { return Start{text, slices.Repeat([]float64{x}, n)} }

// evenDiagonal describes a start with one number on the diagonal and rows that sum to 1.
func evenDiagonal(n int, diagonal float64) Start {
	offDiagonal := (1 - diagonal) / float64(max(1, n-1))
	return Start{Text: startsOnDiagonal(diagonal), Values: table(n, n, func(i, j int) float64 {
		return offDiagonal + indicator(i == j)*(diagonal-offDiagonal)
	})}
}

// startsOnDiagonal describes the initial diagonal of a mixing.
func startsOnDiagonal(diagonal float64) string { return fmt.Sprintf("%.3g on the diagonal", diagonal) }

// startOf returns how a parameter starts.
func startOf(b *graph.Builder, n *gorgonia.Node) graph.Initializer {
	return b.Store().Param(n.Name()).Init
}

// drawn describes the start of a parameter that is drawn from N(0, std^2).
func drawn(b *graph.Builder, key *gorgonia.Node) Start {
	return Start{Text: fmt.Sprintf("N(0, %.2g^2)", startOf(b, key).Std)}
}

// table lists f(i, j), row by row.
func table(rows, columns int, f func(i, j int) float64) []float64 {
	var values []float64
	for i := range rows {
		for j := range columns {
			values = append(values, f(i, j))
		}
	}
	return values
}

// nodeName returns a parameter's name, or "" for nil, a parameter that the stream does without.
func nodeName(n *gorgonia.Node) string {
	if n == nil {
		return ""
	}
	return n.Name()
}

// nodeNames returns the names of the parameters that are not nil.
func nodeNames(nodes ...*gorgonia.Node) []string {
	var names []string
	for _, n := range nodes {
		if n != nil {
			names = append(names, n.Name())
		}
	}
	return names
}

// RowsForm returns the form of n rows whose coefficients (NewRows) all have the same choice and
// parameters; carried says that rows are carried as they are. The caller adds the initial values of
// the coefficients with that choice.
func RowsForm(n int, carried bool, source string, choice Choice, parameters ...*gorgonia.Node) Form {
	f := mixedForm(packing{n: n, m: 1}, source, choice, parameters...)
	if carried {
		f.Res = fixed(n, "n x n")
	}
	return f
}

// mixedForm returns the form of n rows whose packed coefficients all have the same choice and
// parameters. The caller adds their initial values.
func mixedForm(p packing, source string, choice Choice, parameters ...*gorgonia.Node) Form {
	m := "m"
	if p.m == 1 {
		m = "1"
	}
	of := func(rows, columns int, axes string) Coefficient {
		return choice.coefficient(rows, columns, axes, Start{}, parameters...)
	}
	return Form{Res: of(p.n, p.n, "n x n"), Down: of(p.m, p.n, m+" x n"), Up: of(p.n, p.m, "n x "+m), Source: source}
}

// startPacked sets the initial values of A_res [n, n], A_down [m, n] and B_up [n, m] from packed
// coefficients [n, 2m+n], and describes them by the texts res, down and up. A_res and A_down are
// the transposes of the packed carry and down; B_up is the packed up.
func (f *Form) startPacked(p packing, packed []float64, res, down, up string) {
	at := func(row, column int) float64 { return packed[row*p.columns()+column] }
	f.Res.Start = Start{res, table(p.n, p.n, func(i, j int) float64 { return at(j, p.m+i) })}
	f.Down.Start = Start{down, table(p.m, p.n, func(i, j int) float64 { return at(j, i) })}
	f.Up.Start = Start{up, table(p.n, p.m, func(i, j int) float64 { return at(i, p.m+p.n+j) })}
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
