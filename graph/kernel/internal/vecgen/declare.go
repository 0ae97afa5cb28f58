package main

import (
	"fmt"
	"strings"

	"github.com/residua-go/residua/graph/kernel/internal/asm"
)

// symbol returns the name of the assembly function.
func (r *parsed) symbol(s asm.ISA) string { return s.Name + r.name }

// declaration returns the declaration of the assembly function.
func (r *parsed) declaration(s asm.ISA) string {
	var arguments []string
	for _, v := range r.slices {
		arguments = append(arguments, v.name+" *"+v.kind.name)
	}
	arguments = append(arguments, "n int")
	for _, v := range r.numbers {
		arguments = append(arguments, v.name+" "+v.kind.name)
	}
	text := r.symbol(s) + list(arguments)
	var results []string
	for _, v := range r.results {
		results = append(results, v.name+" "+v.kind.name)
	}
	if results != nil {
		text += " " + list(results)
	}
	return text
}

func list(variables []string) string { return "(" + strings.Join(variables, ", ") + ")" }

// header returns the beginning of the choosing function: the Go function that calls the assembly of
// a path. Its T is float32 whenever it calls assembly.
func (r *parsed) header() string {
	types := ""
	if r.slices[0].kind == single {
		types = "[T Float]"
	}
	return "func fast" + r.name + types + strings.Replace(strings.TrimPrefix(r.signature, r.name), "(", "(p path, ", 1)
}

// declare writes the declarations of the assembly and the choosing function.
func (r *parsed) declare(b *builder) {
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
		b.Declare(r.declaration(s))
	}
}

// declareAbsent writes the choosing function for other processors.
func (r *parsed) declareAbsent(b *builder) {
	body := "{}"
	if r.results != nil {
		body = "{ return }"
	}
	b.Line("\n%s %s", r.header(), body)
}
