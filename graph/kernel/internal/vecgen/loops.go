package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/residua-go/residua/graph/kernel/internal/asm"
)

// names lists the arguments of the function that runs a formula on slices: results, arrays,
// numbers.
func (f *formula) names() []string {
	names := f.arrays()
	for _, p := range f.of(true) {
		names = append(names, p.name)
	}
	return names
}

// arguments declares those arguments, after the given ones; suffix ends the names of arrays.
func (f *formula) arguments(suffix string, before ...string) string {
	list := append(before, strings.Join(f.arrays(), suffix+", ")+suffix+" []T")
	for _, p := range f.of(true) {
		list = append(list, p.name+choose(p.class == "Factor", " T", " float64"))
	}
	return "(" + joined(list) + ")"
}

// loops returns the file of Go with what kernels and ops call: for each formula a portable loop, an
// ElementFunc and a Formula.
func loops(formulas []*formula) ([]byte, error) {
	var w asm.Writer
	w.Header("vecgen")
	w.Line("package kernel\n\nimport \"math\"")
	for _, f := range formulas {
		for _, variant := range f.variants() {
			variant.loop(&w)
		}
		if f.op() {
			f.elements(&w)
			f.describe(&w, formulas)
		}
	}
	w.Line("\n// Formulas returns the formulas of ops.\nfunc Formulas() []*Formula {\nreturn []*Formula{")
	for _, f := range formulas {
		if f.op() {
			w.Line("%sFormula(),", f.name)
		}
	}
	w.Line("}\n}")
	return w.Source()
}

// goNotation writes expressions of the portable loops.
func (f *formula) goNotation() *notation {
	functions := map[string]string{
		"Decay": "sigmoidDecay[T](%s, limit)", "QuickDecay": "sigmoidDecay[T](%s, limit)",
		"Tanh": "math.Tanh(%s)", "TanhSlope": "tanhSlope(%s)", "Round": "float64(T(%s))",
	}
	if f.single() {
		functions = map[string]string{"Tanh": "tanhT(%s)", "TanhParts": "tanhParts(%s)", "float64": "T(%s)"}
	}
	return &notation{absent: f.absent,
		number: func(text string) string { return text },
		name: func(name string) string {
			number := func(p parameter) bool { return p.name == name && p.class == "Number" }
			switch {
			case name == "DecayLimit":
				return "limit"
			case f.single() && slices.ContainsFunc(f.of(true), number):
				return "T(" + name + ")"
			}
			return name
		},
		call: func(function string, x ...string) string {
			return fmt.Sprintf(cmp.Or(functions[function], function+"(%s)"), joined(x))
		}}
}

// loop writes the portable loop. All results of an entry are stored after all its inputs have been
// read, the first one last.
func (f *formula) loop(w *asm.Writer) {
	row := func(p parameter) string { return p.name + "Row" }
	var cut, inputs, entries []string
	for _, name := range f.arrays()[1:] {
		cut = append(cut, fmt.Sprintf("%sRow = %sRow[:n]", name, name))
	}
	for _, p := range f.of(false) {
		inputs, entries = append(inputs, p.name), append(entries, choose(f.single(), row(p)+"[i]", "float64("+row(p)+"[i])"))
	}
	var body asm.Writer
	results := f.statements(f.goNotation(), func(names []string, fresh bool, x []string) {
		body.Line("%s %s %s", joined(names), choose(fresh, ":=", "="), joined(x))
	})
	w.Line("\nfunc %sPortable[T Float]%s {\nn := len(%s)\n%s", f.function(), f.arguments("Row"), row(f.results[0]), strings.Join(cut, "\n"))
	if text := body.String() + joined(results); strings.Contains(text, "limit") {
		w.Line("limit := sigmoidLimit[T]()")
	}
	w.Line("for i := range n {\n%s := %s\n%s", joined(inputs), joined(entries), body.String())
	for i, result := range slices.Backward(results) {
		w.Line("%s[i] %s %s", row(f.results[i]), choose(f.results[i].class == "Sum", "+=", "="), choose(f.single(), result, "T("+result+")"))
	}
	w.Line("}\n}")
}

// elements writes the ElementFunc. A result that is not wanted is written to the first one's slice,
// before that.
func (f *formula) elements(w *asm.Writer) {
	arguments := []string{"x.path"}
	for i := range f.results {
		arguments = append(arguments, choose(i == 0, "x.Out[0]", fmt.Sprintf("x.or(%d)", i)))
	}
	for i := range f.of(false) {
		arguments = append(arguments, fmt.Sprintf("x.In[%d]", i))
	}
	for i := range f.of(true) {
		arguments = append(arguments, fmt.Sprintf("x.Numbers[%d]", i))
	}
	w.Line("\n// %s runs formula.%s. Out: %s; each but the first may be nil. In: %s, each of which may be a result.",
		f.name, f.name, joined(f.arrays()[:len(f.results)]), joined(f.arrays()[len(f.results):]))
	if numbers := f.names()[len(f.arrays()):]; len(numbers) > 0 {
		w.Line("// Numbers: %s.", joined(numbers))
	}
	w.Line("func %s[T Float](x Elements[T]) {", f.name)
	w.Line("%s(%s)\n}", f.function(), joined(arguments))
}

// describe writes the function that returns the Formula.
func (f *formula) describe(w *asm.Writer, formulas []*formula) {
	arrays := func(list []parameter) string {
		text := ""
		for _, p := range list {
			text += fmt.Sprintf("{Name: %q", p.name)
			if p.class == "State" || p.class == "Addend" || p.class == "Same" {
				text += ", " + p.class + ": true"
			}
			text += "}, "
		}
		return "[]FormulaArray{" + strings.TrimSuffix(text, ", ") + "}"
	}
	gradients, found := make([]string, len(f.results)), false
	for i, result := range f.results {
		name := f.name + choose(i == 0, "", strings.ToUpper(result.name[:1])+result.name[1:]) + "Gradient"
		gradients[i] = "nil"
		if slices.ContainsFunc(formulas, func(g *formula) bool { return g.name == name }) {
			gradients[i], found = name+"Formula", true
		}
	}
	w.Line("\n// %sFormula describes formula.%s.\nfunc %sFormula() *Formula {\nreturn &Formula{", f.name, f.name, f.name)
	w.Line("Name: %q, Kernel: %q, Entries: %d, Results: %s, Inputs: %s, Numbers: %d,",
		f.name, "formula_"+f.kernel(), f.piece(), arrays(f.results), arrays(f.of(false)), len(f.of(true)))
	if found {
		w.Line("Gradients: []func() *Formula{%s},", joined(gradients))
	}
	w.Line("Single: %s[float32], Double: %s[float64],\n}\n}", f.name, f.name)
}
