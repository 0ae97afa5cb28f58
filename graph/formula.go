package graph

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// formula is the Primitive of a function of package graph/kernel/internal/formula. Its inputs are
// the function's arrays, its output is the first result, and its secondaries are the others.
type formula struct {
	*kernel.Formula
	numbers []float64
	name    string
}

// Formula applies a formula to arrays of one shape and to numbers, and returns a node for each
// result. The nodes are nil if the builder has failed.
func (b *Builder) Formula(f *kernel.Formula, inputs gorgonia.Nodes, numbers ...float64) gorgonia.Nodes {
	k := formula{Formula: f, numbers: numbers, name: f.Name}
	if len(numbers) > 0 {
		k.name += strings.NewReplacer("[", "(", "]", ")").Replace(fmt.Sprint(numbers))
	}
	nodes := make(gorgonia.Nodes, len(f.Results))
	if err := k.check(len(inputs)); err != nil {
		b.Fail(errors.WithMessage(err, "graph: "+k.name))
		return nodes
	}
	if nodes[0] = b.Apply(k.primitive(), inputs...); nodes[0] == nil {
		return nodes
	}
	for i := 1; i < len(nodes); i++ {
		nodes[i] = k.secondary(b, i, nodes[0], inputs)
	}
	return nodes
}

// check returns an error for a formula that cannot be run or differentiated.
func (k formula) check(inputs int) error {
	if len(k.Results) == 0 || k.Single == nil || k.Double == nil {
		return errors.New("want a formula with results and functions for float32 and float64")
	}
	if inputs != len(k.Inputs) || len(k.numbers) != k.Numbers {
		return errors.Errorf("want %d inputs and %d numbers, got %d and %d", len(k.Inputs), k.Numbers, inputs, len(k.numbers))
	}
	for i := range k.Gradients {
		if g := k.gradient(i); g != nil {
			if err := k.checkGradient(i, g); err != nil {
				return errors.WithMessage(err, g.Name)
			}
		}
	}
	return nil
}

// checkGradient returns an error unless each array of the gradient of result i is named after one
// of the formula's.
func (k formula) checkGradient(i int, g *kernel.Formula) error {
	if g.Numbers != k.Numbers {
		return errors.Errorf("want the formula's %d numbers, got %d", k.Numbers, g.Numbers)
	}
	for j, a := range g.Inputs {
		switch known := a.Name == "d"+k.Results[i].Name || a.Name == k.Results[0].Name || k.reads(a.Name); {
		case a.Addend && j < len(g.Inputs)-1:
			return errors.Errorf("want the addend %s as the last input, got number %d of %d", a.Name, j+1, len(g.Inputs))
		case !a.Addend && !known:
			return errors.Errorf("want inputs named after the formula's or d%s, got %s", k.Results[i].Name, a.Name)
		}
	}
	for _, a := range g.Results {
		name, ok := strings.CutPrefix(a.Name, "d")
		if !ok || !k.reads(name) && (i == 0 || name != k.Results[0].Name) {
			return errors.Errorf("want results named d and an input of the formula, got %s", a.Name)
		}
	}
	return nil
}

// gradient returns the gradient of result i, nil if there is none.
func (k formula) gradient(i int) *kernel.Formula {
	if i >= len(k.Gradients) || k.Gradients[i] == nil {
		return nil
	}
	return k.Gradients[i]()
}

// reads tells whether an input has a name.
func (k formula) reads(name string) bool { return slices.Contains(k.inputNames(), name) }

// primitive returns k as a Primitive that can be computed again, if its gradients do not read it.
func (k formula) primitive() Primitive {
	g := k.gradient(0)
	if g == nil || len(k.Results) > 1 || slices.ContainsFunc(g.Inputs, hasName(k.Results[0].Name)) {
		return k
	}
	return formulaAgain{k}
}

// hasName returns a condition on an array's name.
func hasName(name string) func(a kernel.FormulaArray) bool {
	return func(a kernel.FormulaArray) bool { return a.Name == name }
}

// secondary makes the node of result i. It reads the first result and the inputs that its gradient
// reads, or is with respect to.
func (k formula) secondary(b *Builder, i int, primary *gorgonia.Node, inputs gorgonia.Nodes) *gorgonia.Node {
	s := formulaSecondary{of: k, result: i, names: []string{k.Results[0].Name}}
	var others gorgonia.Nodes
	for j, a := range k.Inputs {
		if g := k.gradient(i); k.differentiates(i, a.Name) || g != nil && slices.ContainsFunc(g.Inputs, hasName(a.Name)) {
			s.names, others = append(s.names, a.Name), append(others, inputs[j])
		}
	}
	return b.Secondary(s, i-1, primary, others...)
}

// differentiates tells whether result i has a gradient with respect to an array.
func (k formula) differentiates(i int, name string) bool {
	g := k.gradient(i)
	return g != nil && slices.ContainsFunc(g.Results, hasName("d"+name))
}

func (k formula) String() string { return k.name }

// Infer checks that all inputs have one shape.
func (k formula) Infer(in []Signature) (Signature, error) {
	names := make([]string, len(in))
	for i := range names {
		names[i] = inWords(k.Inputs[i].Name)
	}
	return SameShape(in, names...)
}

// inWords divides a name of two words: forget gate for forgetGate.
func inWords(name string) string {
	var words strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			words.WriteByte(' ')
		}
		words.WriteRune(unicode.ToLower(r))
	}
	return words.String()
}

// Differentiable tells whether the first result has a gradient with respect to input i.
func (k formula) Differentiable(i int) bool { return k.differentiates(0, k.Inputs[i].Name) }

// InPlace allows every input that has the first result's type on a device.
func (k formula) InPlace(i int) bool { return k.float(k.Inputs[i]) == k.float(k.Results[0]) }

// float tells whether an array has 32 bits on a device whatever the activations' type is.
func (k formula) float(a kernel.FormulaArray) bool { return a.State || a.Addend && k.Results[0].State }

func (k formula) KeepsFloat32() bool { return k.Results[0].State }

// CPUOnly tells whether there is no kernel for a device.
func (k formula) CPUOnly() bool { return k.Kernel == "" }

func (k formula) SameType() bool { return k.Results[0].Same }

func (k formula) VJP(d *Derivative) { k.differentiate(d, 0, k.inputNames()) }

func (k formula) inputNames() (names []string) {
	for _, a := range k.Inputs {
		names = append(names, a.Name)
	}
	return names
}

// differentiate makes the gradients of a node that computes result i from inputs with the given
// names. A gradient's node is named after the input: GradGate of SwiGLU.
func (k formula) differentiate(d *Derivative, i int, names []string) {
	g := formula{Formula: k.gradient(i), numbers: k.numbers}
	of := k.name
	if i > 0 {
		of += "'s " + k.Results[i].Name
	}
	var inputs gorgonia.Nodes
	target := func(result kernel.FormulaArray) int { return slices.Index(names, result.Name[1:]) }
	for _, a := range g.Inputs {
		switch j := slices.Index(names, a.Name); {
		case a.Addend:
			if sum := d.TakeAccumulated(target(g.Results[0])); sum != nil {
				inputs = append(inputs, sum)
			}
		case a.Name == "d"+k.Results[i].Name:
			inputs = append(inputs, d.Gradient())
		case j >= 0:
			inputs = append(inputs, d.Input(j))
		default:
			inputs = append(inputs, d.Output())
		}
	}
	title := func(a kernel.FormulaArray) string {
		return "Grad" + strings.ToUpper(a.Name[1:2]) + a.Name[2:] + " of " + of
	}
	g.name = title(g.Results[0])
	primary := d.Make(target(g.Results[0]), g, inputs...)
	for n, result := range g.Results[1:] {
		if d.Wants(target(result)) {
			s := formulaSecondary{of: formula{Formula: g.Formula, name: title(result)}, result: 1 + n}
			d.Set(target(result), d.b.Secondary(s, n, primary))
		}
	}
}

func (k formula) Run(c *Call) { Elementwise(c, k.Single, k.Double, k.numbers...) }

// Launch runs the formula's kernel, whose arguments are its results, arrays and numbers.
func (k formula) Launch(c *DeviceCall) {
	activation := c.Out().Type
	if slices.ContainsFunc(slices.Concat(k.Results, k.Inputs), k.float) {
		activation = c.Activation()
	}
	typeOf := func(a kernel.FormulaArray) cuda.Type {
		if k.float(a) {
			return cuda.F32
		}
		return activation
	}
	out, in := cuda.Args{c.Out()}, cuda.Args{}
	var results []SecondaryResult
	for i, a := range k.Results[1:] {
		r := c.SecondaryAs(i, typeOf(a))
		results, out = append(results, r), append(out, r.Array)
	}
	for i, a := range k.Inputs {
		if i < len(c.args) {
			in = append(in, c.InAs(i, typeOf(a)))
		} else {
			in = append(in, cuda.Array{})
		}
	}
	for _, v := range k.numbers {
		in = append(in, cuda.Float(v))
	}
	n := c.Out().N
	c.Launch(k.Kernel+"_"+activation.String(), k.grid(n), out, in, cuda.Long(n))
	for _, r := range results {
		r.Deliver()
	}
}

func (k formula) grid(n int) cuda.Grid {
	if k.Entries == 4 {
		return cuda.Quads(n)
	}
	return cuda.Eights(n)
}

// formulaAgain is a formula that can be computed again instead of being kept.
type formulaAgain struct{ formula }

// Again computes the formula again.
func (k formulaAgain) Again(b *Builder, inputs gorgonia.Nodes) *gorgonia.Node {
	return b.Apply(k, inputs...)
}

// formulaSecondary is a later result of a formula. Inputs: the first result, and those of the
// formula that secondary lists.
type formulaSecondary struct {
	MadeByPrimary
	of     formula
	result int
	names  []string // of the inputs
}

func (k formulaSecondary) String() string {
	if k.names == nil { // a gradient
		return k.of.name
	}
	return k.of.name + "'s " + k.of.Results[k.result].Name
}

func (formulaSecondary) Infer(in []Signature) (Signature, error) { return in[0], nil }

func (k formulaSecondary) Differentiable(i int) bool {
	return i < len(k.names) && k.of.differentiates(k.result, k.names[i])
}

func (k formulaSecondary) KeepsFloat32() bool { return k.of.float(k.of.Results[k.result]) }

func (k formulaSecondary) VJP(d *Derivative) { k.of.differentiate(d, k.result, k.names) }
