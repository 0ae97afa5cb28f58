package main

import (
	"cmp"
	"go/ast"
	"go/parser"
	"slices"
	"strings"

	"github.com/residua-go/residua/graph/kernel/internal/asm"
)

// kind is an element type.
type kind struct {
	name string
	size int
}

var (
	single = kind{"float32", 4}
	double = kind{"float64", 8}
)

// variable is a slice, a number or a result of a routine.
type variable struct {
	name string
	kind kind
}

// routine is one vector function. Its work on one vector is a listing: see builder.run.
type routine struct {
	signature string // the name in upper camel case, and slices, numbers and results as Go declares them; T is float32
	chooser   string // the Go function that calls a path's assembly, or chooser+"Portable"; none: "fast"+name, which has no portable path
	doc       string // what it computes, to follow the name
	wide      bool   // lanes are float64, otherwise float32
	unroll    int    // number of vectors in one turn of the loop
	scratch   string // names of the registers that the work on one vector uses
	kept      string // names of registers kept through the loop, besides those of the results
	constants string // the constants that the work uses
	rowFields string // names of the numbers that each row has in its scoreRow, if the routine handles a list of rows
	clears    bool   // whether it clears what follows each row

	formula *formula // what the routine was made from, if from a formula
	given   []string // then what its numbers are in Go, in terms of the formula's

	start string           // sets the kept registers that are no result's
	work  string           // handles one vector
	build func(b *builder) // handles one vector, if the instruction sets differ by more than names
}

// parsed is a routine with the parts of its signature and the names in its lists.
type parsed struct {
	routine
	name, function                         string     // of assembly, without the instruction set's, and of the choosing function
	slices, numbers, results               []variable // all slices have the same length
	scratchNames, keptNames, constantNames []string
}

// routines lists all routines; those of formulas come last.
func routines(formulas []*formula) []*parsed {
	var list []*parsed
	var lowered []routine
	for _, f := range formulas {
		for _, variant := range f.variants() {
			lowered = append(lowered, variant.lower())
		}
	}
	for _, group := range [][]routine{geluRoutines, geluExactRoutines, normRoutines, softmaxRoutines, adamWRoutines, elementwiseRoutines,
		sinkhornRoutines(), lowered} {
		for _, r := range group {
			list = append(list, parse(r))
		}
	}
	return list
}

// parse reads a routine's signature and lists.
func parse(r routine) *parsed {
	p := &parsed{routine: r, scratchNames: strings.Fields(r.scratch), constantNames: strings.Fields(r.constants)}
	p.name, _, _ = strings.Cut(r.signature, "(")
	p.function = cmp.Or(r.chooser, "fast"+p.name)
	expression, err := parser.ParseExpr("func" + strings.TrimPrefix(r.signature, p.name))
	if err != nil {
		panic(r.signature + ": " + err.Error())
	}
	function := expression.(*ast.FuncType)
	for _, field := range function.Params.List {
		if array, ok := field.Type.(*ast.ArrayType); ok {
			p.slices = append(p.slices, variables(field.Names, array.Elt)...)
		} else {
			p.numbers = append(p.numbers, variables(field.Names, field.Type)...)
		}
	}
	if function.Results != nil {
		p.results = variables(function.Results.List[0].Names, function.Results.List[0].Type)
	}
	for _, v := range p.results {
		p.keptNames = append(p.keptNames, v.name)
	}
	p.keptNames = append(p.keptNames, strings.Fields(r.kept)...)
	return p
}

func variables(names []*ast.Ident, element ast.Expr) (list []variable) {
	k := double
	if element.(*ast.Ident).Name == "T" {
		k = single
	}
	for _, name := range names {
		list = append(list, variable{name.Name, k})
	}
	return list
}

// step returns the number of elements in one vector.
func (r *parsed) step(s asm.ISA) int {
	if r.wide {
		return s.Lanes / 2
	}
	return s.Lanes
}

// frame returns the offsets of arguments and results, and their total size: pointers, the list of
// rows, its length or that of the slices, numbers, results.
func (r *parsed) frame() (offsets map[string]int, size int) {
	offsets = map[string]int{}
	for _, s := range r.slices {
		offsets[s.name] = size
		size += 8
	}
	if r.rows() {
		offsets["rows"] = size
		size += 8
	}
	offsets["n"] = size
	size += 8
	numbers := r.arguments(r.numbers)
	for i, v := range slices.Concat(numbers, r.arguments(r.results)) {
		align := v.kind.size
		if i == len(numbers) { // results begin at an aligned offset
			align = 8
		}
		size = (size + align - 1) / align * align
		offsets[v.name] = size
		size += v.kind.size
	}
	return offsets, size
}
