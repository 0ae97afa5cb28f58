package main

import (
	"fmt"
	"slices"
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
	if r.rows() {
		arguments = append(arguments, "rows *scoreRow[float32]")
	}
	arguments = append(arguments, "n int")
	for _, v := range r.arguments(r.numbers) {
		arguments = append(arguments, v.name+" "+v.kind.name)
	}
	text := r.symbol(s) + list(arguments)
	var results []string
	for _, v := range r.arguments(r.results) {
		results = append(results, v.name+" "+v.kind.name)
	}
	if results != nil {
		text += " " + list(results)
	}
	return text
}

func list(variables []string) string { return "(" + strings.Join(variables, ", ") + ")" }

// header returns the beginning of the choosing function. Its T is float32 whenever it calls
// assembly.
func (r *parsed) header() string {
	types := ""
	if r.slices[0].kind == single {
		types = "[T Float]"
	}
	if r.formula != nil {
		return "func " + r.function + types + r.formula.arguments("", "p path")
	}
	if !r.rows() {
		return "func " + r.function + types + strings.Replace(strings.TrimPrefix(r.signature, r.name), "(", "(p path, ", 1)
	}
	arguments := []string{"p path", "rows []scoreRow[T]"}
	for _, v := range r.slices {
		arguments = append(arguments, v.name+" []T")
	}
	for _, v := range r.arguments(r.numbers) {
		arguments = append(arguments, v.name+" T")
	}
	return "func " + r.function + types + list(arguments)
}

// declare writes the declarations of a processor's assembly and the choosing function.
func (r *parsed) declare(b *builder, sets []asm.ISA) {
	b.Line("\n// %s computes %s\n%s {", r.function, r.doc, r.header())
	if f := r.formula; f != nil && f.addend() != "" {
		b.Line("if %s == nil {\n%sAlone(%s)\nreturn\n}", f.addend(), f.function(), joined(append([]string{"p"}, f.alone()...)))
	}
	if r.rows() {
		b.Line("n := len(rows)\nif n == 0 {\nreturn\n}")
	} else {
		b.Line("n := len(%s)", r.slices[0].name)
	}
	var arguments []string
	for i, v := range r.slices {
		if i > 0 && !r.rows() {
			b.Line("%s = %s[:n]", v.name, v.name)
		}
		arguments = append(arguments, fmt.Sprintf("(*%s)(pointer(%s))", v.kind.name, v.name))
	}
	if r.rows() {
		arguments = append(arguments, "(*scoreRow[float32])(pointer(rows))")
	}
	arguments = append(arguments, "n")
	for i, v := range r.arguments(r.numbers) {
		if r.formula != nil {
			v.name = r.given[i]
		}
		arguments = append(arguments, v.kind.name+list([]string{v.name}))
	}
	var calls []string
	for _, s := range sets {
		calls = append(calls, r.call(s, arguments))
	}
	if r.chooser != "" {
		calls = append(calls, r.portable())
	}
	r.emitChoice(b, sets, calls)
	for _, s := range sets {
		b.Declare(r.declaration(s))
	}
}

// emitChoice ends the choosing function with its calls, the last of which is for all other paths.
func (r *parsed) emitChoice(b *builder, sets []asm.ISA, calls []string) {
	last := r.returned(calls[len(calls)-1])
	if len(calls) == 1 {
		b.Line("%s\n}", last)
		return
	}
	b.Line("switch p {")
	for i, call := range calls[:len(calls)-1] {
		b.Line("case %s:\n%s", sets[i].Name, r.returned(call))
	}
	b.Line("default:\n%s\n}\n}", last)
}

func (r *parsed) call(s asm.ISA, arguments []string) string {
	text := r.symbol(s) + list(arguments)
	if results := r.arguments(r.results); len(results) > 0 && results[0].kind == single {
		return "T(" + text + ")"
	}
	return text
}

// portable returns the call of the portable function.
func (r *parsed) portable() string {
	var arguments []string
	for _, v := range slices.Concat(r.slices, r.numbers) {
		arguments = append(arguments, v.name)
	}
	if r.formula != nil {
		arguments = r.formula.names()
	}
	return r.chooser + "Portable" + list(arguments)
}

// returned returns a statement that returns the results of a call, if there are any.
func (r *parsed) returned(call string) string {
	if len(r.arguments(r.results)) == 0 {
		return call
	}
	return "return " + call
}

// declareAbsent writes the choosing function for other processors.
func (r *parsed) declareAbsent(b *builder) {
	body := ""
	if r.chooser != "" {
		body = r.portable()
	}
	if body != "" || len(r.arguments(r.results)) > 0 {
		body = r.returned(body)
	}
	if f := r.formula; f != nil && f.addend() != "" {
		body = fmt.Sprintf("if %s == nil {\n%sAlonePortable(%s)\nreturn\n}\n", f.addend(), f.function(), joined(f.alone())) + body
	}
	b.Line("\n%s { %s }", r.header(), body)
}
