package main

import "github.com/residua-go/residua/graph/kernel/internal/asm"

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

// routine is one vector function. All its slices have the same length.
type routine struct {
	name    string // in upper camel case
	doc     string // what it computes, to follow the name
	slices  []variable
	numbers []variable
	results []variable

	wide      bool     // lanes are float64, otherwise float32
	unroll    int      // number of vectors in one turn of the loop
	scratch   int      // registers that the work on one vector uses
	kept      int      // registers kept through the loop, for each unrolled vector
	constants []string // the constants that the work uses

	start  func(b *builder) // sets the kept registers
	work   func(b *builder) // handles one vector
	finish func(b *builder) // writes the results
}

// routines lists all routines.
func routines() []routine {
	var list []routine
	for _, group := range [][]routine{geluRoutines, geluExactRoutines, normRoutines, softmaxRoutines, adamWRoutines, elementwiseRoutines, sigmoidRoutines, gatedSingleRoutines, sinkhornRoutines(), tanhRoutines} {
		list = append(list, group...)
	}
	return list
}

func singles(names ...string) []variable { return variables(single, names) }
func doubles(names ...string) []variable { return variables(double, names) }

func variables(k kind, names []string) []variable {
	list := make([]variable, len(names))
	for i, name := range names {
		list[i] = variable{name, k}
	}
	return list
}

// step returns the number of elements in one vector.
func (r *routine) step(s asm.ISA) int {
	if r.wide {
		return s.Lanes / 2
	}
	return s.Lanes
}

// frame returns the offsets of arguments and results, and their total size: pointers, the length,
// numbers, results.
func (r *routine) frame() (offsets map[string]int, size int) {
	offsets = map[string]int{}
	for _, s := range r.slices {
		offsets[s.name] = size
		size += 8
	}
	offsets["n"] = size
	size += 8
	for i, v := range append(append([]variable(nil), r.numbers...), r.results...) {
		align := v.kind.size
		if i == len(r.numbers) { // results begin at an aligned offset
			align = 8
		}
		size = (size + align - 1) / align * align
		offsets[v.name] = size
		size += v.kind.size
	}
	return offsets, size
}
