package main

import (
	"fmt"
	"strings"

	"github.com/residua-go/residua/graph/kernel/internal/asm"
)

// symbol is the name of the assembly function.
func (r *routine) symbol(s asm.ISA) string { return s.Name + r.name }

// signature declares the assembly function.
func (r *routine) signature(s asm.ISA) string {
	var arguments []string
	for _, v := range r.slices {
		arguments = append(arguments, v.name+" *"+v.kind.name)
	}
	arguments = append(arguments, "n int")
	for _, v := range r.numbers {
		arguments = append(arguments, v.name+" "+v.kind.name)
	}
	return fmt.Sprintf("%s(%s)%s", r.symbol(s), strings.Join(arguments, ", "), r.resultList())
}

func (r *routine) resultList() string {
	if len(r.results) == 0 {
		return ""
	}
	var list []string
	for _, v := range r.results {
		list = append(list, v.name+" "+v.kind.name)
	}
	return " (" + strings.Join(list, ", ") + ")"
}

// chooser is the name of the Go function that runs the assembly of a path.
func (r *routine) chooser() string { return "fast" + r.name }

// declare writes the declarations of the assembly and the choosing function.
func (r *routine) declare(b *builder) {
	b.Line("\n// %s computes %s", r.chooser(), r.doc)
	b.Line("func %s(p path, %s)%s {", r.chooser(), r.parameters(), r.resultList())
	b.Line("n := len(%s)", r.slices[0].name)
	for _, v := range r.slices[1:] {
		b.Line("%s = %s[:n]", v.name, v.name)
	}
	var arguments []string
	for _, v := range r.slices {
		arguments = append(arguments, "unsafe.SliceData("+v.name+")")
	}
	arguments = append(arguments, "n")
	for _, v := range r.numbers {
		arguments = append(arguments, v.name)
	}
	list := strings.Join(arguments, ", ")
	if len(r.results) > 0 {
		b.Line("if p == avx512 {\nreturn %s(%s)\n}\nreturn %s(%s)\n}", r.symbol(isas[0]), list, r.symbol(isas[1]), list)
	} else {
		b.Line("if p == avx512 {\n%s(%s)\n} else {\n%s(%s)\n}\n}", r.symbol(isas[0]), list, r.symbol(isas[1]), list)
	}
	for _, s := range isas {
		b.Declare(r.signature(s))
	}
}

// parameters lists those of the choosing function.
func (r *routine) parameters() string {
	var list []string
	for _, v := range r.slices {
		list = append(list, v.name+" []"+v.kind.name)
	}
	for _, v := range r.numbers {
		list = append(list, v.name+" "+v.kind.name)
	}
	return strings.Join(list, ", ")
}

// declareAbsent writes the choosing function for other processors.
func (r *routine) declareAbsent(b *builder) {
	var kinds []string
	for _, v := range r.slices {
		kinds = append(kinds, "[]"+v.kind.name)
	}
	for _, v := range r.numbers {
		kinds = append(kinds, v.kind.name)
	}
	results, body := "", "{}"
	if n := len(r.results); n > 0 {
		results = r.resultList()
		body = "{\nreturn " + strings.Repeat("0, ", n-1) + "0\n}"
	}
	b.Line("\nfunc %s(path, %s)%s %s", r.chooser(), strings.Join(kinds, ", "), results, body)
}
