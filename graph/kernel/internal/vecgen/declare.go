package main

import (
	"fmt"
	"strings"

	"github.com/residua-go/residua/graph/kernel/internal/asm"
)

// symbol returns the name of the assembly function.
func (r *routine) symbol(s asm.ISA) string { return s.Name + r.name }

// signature returns the declaration of the assembly function.
func (r *routine) signature(s asm.ISA) string {
	var arguments []string
	for _, v := range r.slices {
		arguments = append(arguments, v.name+" *"+v.kind.name)
	}
	arguments = append(arguments, "n int")
	for _, v := range r.numbers {
		arguments = append(arguments, v.name+" "+v.kind.name)
	}
	return r.symbol(s) + list(arguments) + r.resultList(func(v variable) string { return v.kind.name })
}

func list(variables []string) string { return "(" + strings.Join(variables, ", ") + ")" }

func (r *routine) resultList(kind func(variable) string) string {
	var results []string
	for _, v := range r.results {
		results = append(results, v.name+" "+kind(v))
	}
	if results == nil {
		return ""
	}
	return " " + list(results)
}

// generic returns the type of a variable of the choosing function, whose T is float32 whenever it
// calls assembly.
func (v variable) generic() string {
	if v.kind == single {
		return "T"
	}
	return v.kind.name
}

// header returns the beginning of the choosing function: the Go function that calls the assembly of
// a path.
func (r *routine) header() string {
	parameters, types := []string{"p path"}, ""
	for _, v := range r.slices {
		parameters = append(parameters, v.name+" []"+v.generic())
		if v.kind == single {
			types = "[T Float]"
		}
	}
	for _, v := range r.numbers {
		parameters = append(parameters, v.name+" "+v.generic())
	}
	return "func fast" + r.name + types + list(parameters) + r.resultList(variable.generic)
}

// declare writes the declarations of the assembly and the choosing function.
func (r *routine) declare(b *builder) {
	b.Line("\n// fast%s computes %s\n%s {", r.name, r.doc, r.header())
	b.Line("n := len(%s)", r.slices[0].name)
	var arguments []string
	for i, v := range r.slices {
		if i > 0 {
			b.Line("%s = %s[:n]", v.name, v.name)
		}
		arguments = append(arguments, fmt.Sprintf("(*%s)(pointer(%s))", v.kind.name, v.name))
	}
	arguments = append(arguments, "n")
	for _, v := range r.numbers {
		arguments = append(arguments, v.kind.name+list([]string{v.name}))
	}
	call := func(s asm.ISA) string {
		text := r.symbol(s) + list(arguments)
		switch {
		case r.results == nil:
			return text
		case r.results[0].kind == single:
			return "return T(" + text + ")"
		}
		return "return " + text
	}
	b.Line("if p == avx512 {\n%s\n} else {\n%s\n}\n}", call(isas[0]), call(isas[1]))
	for _, s := range isas {
		b.Declare(r.signature(s))
	}
}

// declareAbsent writes the choosing function for other processors.
func (r *routine) declareAbsent(b *builder) {
	body := "{}"
	if r.results != nil {
		body = "{ return }"
	}
	b.Line("\n%s %s", r.header(), body)
}
