package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/residua-go/residua/graph/kernel/internal/asm"
)

// kernel returns the name of the CUDA function and kernels: softcap, swiglu_grad.
func (f *formula) kernel() string {
	return strings.ToLower(strings.Replace(f.name, "Gradient", "_grad", 1))
}

// cudaNotation writes expressions in CUDA C, whose numbers are floats. A quotient is a product with
// the reciprocal as the first factor, so that the numerator's factors cannot overflow together.
var cudaNotation = &notation{
	name: func(name string) string {
		if name == "DecayLimit" {
			return "104.0f"
		}
		return name
	},
	number: func(text string) string { return choose(strings.Contains(text, "."), text, text+".0") + "f" },
	call: func(function string, x ...string) string {
		switch function {
		case "Tanh":
			return "tanhf(" + x[0] + ")"
		case "max":
			return "at_least(" + joined(x) + ")"
		case "min":
			return "at_most(" + joined(x) + ")"
		case "Round", "float64":
			return "(" + x[0] + ")"
		}
		return strings.ToLower(function) + "_of(" + joined(x) + ")"
	},
	divide: func(x, y string) string {
		reciprocal := "reciprocal(" + y + ")"
		return choose(x == "1.0f", reciprocal, reciprocal+" * "+x)
	},
}

// deviceFunctions returns the file with a device function for each formula: one result is returned,
// several are written to the last arguments.
func deviceFunctions(formulas []*formula) []byte {
	var w asm.Writer
	w.Header("vecgen")
	w.Line("// Formulas of graph/kernel/internal/formula as functions of floats.\n#pragma once\n#include \"formula.cuh\"")
	for _, f := range formulas {
		if f.rows {
			continue
		}
		var arguments []string
		for _, p := range f.params {
			arguments = append(arguments, "float "+p.name)
		}
		known := map[string]bool{}
		if len(f.results) > 1 {
			for _, p := range f.results {
				arguments = append(arguments, "float& "+p.name)
				known[p.name] = true
			}
		}
		w.Line("\nDEVICE %s %s(%s) {", choose(len(f.results) > 1, "void", "float"), f.kernel(), joined(arguments))
		results := f.statements(cudaNotation, func(names []string, _ bool, x []string) { cudaAssign(&w, known, names, x[0]) })
		if len(f.results) == 1 {
			w.Line("  return %s;\n}", results[0])
			continue
		}
		for i, p := range f.results {
			if results[i] != p.name {
				w.Line("  %s = %s;", p.name, results[i])
			}
		}
		w.Line("}")
	}
	return w.Bytes()
}

// cudaAssign writes an assignment; the results of a call with several become its last arguments.
func cudaAssign(w *asm.Writer, known map[string]bool, names []string, x string) {
	var fresh []string
	for _, name := range names {
		if !known[name] {
			fresh = append(fresh, name)
		}
		known[name] = true
	}
	switch {
	case len(names) > 1:
		if fresh != nil {
			w.Line("  float %s;", joined(fresh))
		}
		function, arguments, _ := strings.Cut(strings.TrimSuffix(x, ")"), "(")
		w.Line("  %s(%s, %s);", function, arguments, joined(names))
	case fresh != nil:
		w.Line("  float %s = %s;", names[0], x)
	default:
		w.Line("  %s = %s;", names[0], x)
	}
}

// most is how many arrays a kernel may have whose threads take eight entries; of more arrays, they
// take four.
const most = 5

// deviceKernels returns the file with a kernel for each formula and type of activations.
func deviceKernels(formulas []*formula) []byte {
	var w asm.Writer
	w.Header("vecgen")
	w.Line("// Kernels that compute the formulas of graph/kernel/internal/formula for each entry.\n#include \"eights.cuh\"\n#include \"formulas.cuh\"")
	for _, f := range formulas {
		if !f.op() {
			continue
		}
		f.deviceWork(&w)
		for _, t := range [][2]string{{"f32", "float"}, {"bf16", "bf16"}} {
			w.Line("KERNEL(256) formula_%s_%s(%s, i64 n) {", f.kernel(), t[0], joined(f.deviceArguments(t[1])))
			w.Line("  in_pieces<%d>(n, aligned16(%s), %sWork<%s>{%s});\n}", f.piece(), joined(f.arrays()), f.name, t[1], joined(f.names()))
		}
	}
	return w.Bytes()
}

// piece returns the number of entries that a thread takes.
func (f *formula) piece() int { return choose(len(f.arrays()) > most, 4, 8) }

// deviceArguments declares results, arrays and numbers; activations have the given type.
func (f *formula) deviceArguments(activation string) (list []string) {
	declare := func(p parameter, before string) {
		class := choose(p.class == "Addend", f.results[0].class, p.class)
		list = append(list, before+choose(class == "State", "float", activation)+"* "+p.name)
	}
	for _, p := range f.results {
		declare(p, "")
	}
	for _, p := range f.of(false) {
		declare(p, "const ")
	}
	for _, p := range f.of(true) {
		list = append(list, "float "+p.name)
	}
	return list
}

// deviceWork writes the struct that computes the entries of one thread.
func (f *formula) deviceWork(w *asm.Writer) {
	each := func(p parameter) string { return p.name + "_[k]" }
	w.Line("\ntemplate <typename A>\nstruct %sWork {\n  %s;\n", f.name, strings.Join(f.deviceArguments("A"), ";\n  "))
	w.Line("  template <int N>\n  DEVICE void run(i64 i) const {")
	for _, p := range slices.Concat(f.of(false), f.results) {
		w.Line("    float %s_[N];", p.name)
	}
	for _, p := range f.of(false) {
		if p.class == "Addend" {
			w.Line("    read_or_zero(%s, i, %s_);", p.name, p.name)
		} else {
			w.Line("    read(%s + i, %s_);", p.name, p.name)
		}
	}
	w.Line("#pragma unroll\n    for (int k = 0; k < N; k++) {")
	var arguments []string
	for _, p := range f.params {
		arguments = append(arguments, choose(p.number(), p.name, each(p)))
	}
	if len(f.results) == 1 {
		w.Line("      %s = %s(%s);", each(f.results[0]), f.kernel(), joined(arguments))
	} else {
		for _, p := range f.results {
			arguments = append(arguments, each(p))
		}
		w.Line("      %s(%s);", f.kernel(), joined(arguments))
	}
	w.Line("    }")
	for i, p := range f.results {
		w.Line("    %swrite(%s + i, %s_);", choose(i == 0, "", fmt.Sprintf("if (%s != nullptr) ", p.name)), p.name, p.name)
	}
	w.Line("  }\n};\n")
}
