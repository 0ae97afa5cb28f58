package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// lowering turns the values of a formula into a listing. It holds each value in a register from
// where it is computed to its last use. After a macro, which takes most registers, it loads inputs
// again.
type lowering struct {
	*values
	lines     []string
	held      []*value       // what each register holds; nil: it is free
	left      map[*value]int // uses to come
	numbers   []string       // numbers in Go; number i is named number<i> in the listing
	constants map[string]bool
}

// macroOf describes the macros of functions: how many registers each takes, of which the first has
// its argument and the third its result, and the constants that it uses.
var macroOf = map[string]struct {
	registers int
	constants string
}{
	"decay":      {5, decayConstants},
	"quickDecay": {4, quickDecayConstants},
	"tanhRatio":  {5, exp2Constants + "tanhLow tanhHigh"},
}

// lower returns the routine of a formula.
func (f *formula) lower() routine {
	l := &lowering{values: newValues(f), left: map[*value]int{}, constants: map[string]bool{}}
	for _, v := range l.order {
		l.left[v] = v.uses
	}
	for _, v := range l.order {
		if v.uses > 0 && len(v.args) > 0 {
			l.compute(v)
		}
	}
	for _, v := range l.results { // before any store, which may replace an input
		l.take(v)
	}
	for i, v := range slices.Backward(l.results) {
		from := l.take(v)
		if l.left[v]--; l.left[v] > 0 { // a store may round the register
			from = l.copyOf(from)
		}
		l.line("store", l.register(from), f.results[i].name)
		l.held[from] = nil
	}
	var scratch []string
	for i := range l.held {
		scratch = append(scratch, l.register(i))
	}
	signature := fmt.Sprintf("%s(%s []T", f.name, strings.Join(f.arrays(), ", "))
	for i := range l.numbers {
		signature += fmt.Sprintf(", number%d %s", i, choose(f.wide(), "float64", "T"))
	}
	constants := slices.Sorted(maps.Keys(l.constants))
	return routine{
		signature: signature + ")", chooser: f.function(), formula: f, given: l.numbers,
		doc:  "formula." + strings.TrimSuffix(f.name, "Alone") + ".",
		wide: f.wide(), unroll: unroll(len(l.held), len(l.numbers), len(constants)),
		scratch: strings.Join(scratch, " "), constants: strings.Join(constants, " "), work: strings.Join(l.lines, "\n"),
	}
}

// unroll returns how many vectors are worked on in one turn: as many as AVX2 has registers for,
// whose last two are masks, and at most four.
func unroll(scratch, numbers, constants int) int {
	n := 4
	for n > 1 && (n*scratch+numbers > 14 || n*scratch+numbers+constants > 32) {
		n--
	}
	return n
}

func (l *lowering) line(name string, operands ...string) {
	l.lines = append(l.lines, name+" "+strings.Join(operands, ", "))
}

func (l *lowering) register(i int) string { return fmt.Sprintf("r%d", i) }

// hold puts a value into a free register.
func (l *lowering) hold(v *value) int {
	i := slices.Index(l.held, nil)
	if i < 0 {
		i, l.held = len(l.held), append(l.held, nil)
	}
	l.held[i] = v
	return i
}

// at returns the register that holds a value, -1 if none does.
func (l *lowering) at(v *value) int { return slices.Index(l.held, v) }

// take returns the register of a value; it loads what is in none.
func (l *lowering) take(v *value) int {
	if i := l.at(v); i >= 0 {
		return i
	}
	i := l.hold(v)
	switch v.op {
	case "load":
		l.line("load", v.name, l.register(i))
	case "constant", "number":
		l.line(l.instruction("VMOVU"), l.operand(v), l.register(i))
	default:
		panic(l.formula.name + ": a value was lost: " + v.op)
	}
	return i
}

// fixed tells whether a value needs no register of its own.
func fixed(v *value) bool { return v.op == "constant" || v.op == "number" }

// operand returns what an instruction names: a constant, a number or a register.
func (l *lowering) operand(v *value) string {
	switch v.op {
	case "constant":
		return l.constant(v.name)
	case "number":
		i := slices.Index(l.numbers, v.text)
		if i < 0 {
			i, l.numbers = len(l.numbers), append(l.numbers, v.text)
		}
		return fmt.Sprintf("number%d", i)
	}
	return l.register(l.take(v))
}

// inRegister returns an operand that an instruction needs in a register; a constant may be loaded
// into the given one.
func (l *lowering) inRegister(v *value, spare int) string {
	if v.name == "0" {
		l.line("zero", l.register(spare))
		return l.register(spare)
	}
	if v.op == "constant" {
		return l.operand(v) + "@" + l.register(spare)
	}
	return l.operand(v)
}

// constant returns the name of a constant of the listings, which it adds to the list.
func (l *lowering) constant(text string) string {
	name := text
	switch number, err := strconv.ParseFloat(text, 64); {
	case text == "DecayLimit":
		name = "sigmoidHigh"
	case text == "-DecayLimit":
		name = "sigmoidLow"
	case err == nil:
		table := choose(l.formula.wide(), doubles, singles)
		same := func(name string) bool { return table[name] == number && !math.Signbit(table[name]) }
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(table)), func(name string) bool { return !same(name) })
		if names == nil {
			panic(l.formula.name + ": want a constant of constants.go, got " + text)
		}
		name = names[0]
	}
	l.constants[name] = true
	return name
}

// done ends the use of operands: registers whose values are not needed any more are free. It
// returns one of them, for the result, -1 if there is none.
func (l *lowering) done(operands ...*value) int {
	free := -1
	for _, v := range operands {
		l.left[v]--
		if i := l.at(v); i >= 0 && l.left[v] == 0 {
			l.held[i] = nil
			free = i
		}
	}
	return free
}

// result puts a value into a register that is free, or into a new one.
func (l *lowering) result(v *value, free int) int {
	if free >= 0 && l.held[free] == nil {
		l.held[free] = v
		return free
	}
	return l.hold(v)
}

// copyOf returns a register with the same content.
func (l *lowering) copyOf(from int) int {
	to := l.hold(&value{})
	l.line(l.instruction("VMOVU"), l.register(from), l.register(to))
	return to
}

// compute writes the instructions for a value whose operands are known.
func (l *lowering) compute(v *value) {
	switch v.op {
	case "+", "*":
		l.commutative(v)
	case "-", "/":
		l.ordered(v)
	case "max", "min":
		l.bound(v)
	case "fma", "fms", "fnma":
		l.fused(v)
	case "round", "exact":
		l.rounded(v)
	default:
		l.macro(v)
	}
}

var instructions = map[string]string{
	"+": "VADD", "*": "VMUL", "-": "VSUB", "/": "VDIV", "max": "VMAX", "min": "VMIN",
	"fma": "VFMADD231", "fms": "VFMSUB231", "fnma": "VFNMADD231",
}

// instruction names an operator's instruction, or completes a name's beginning.
func (l *lowering) instruction(name string) string {
	if operator, ok := instructions[name]; ok {
		name = operator
	}
	return name + choose(l.formula.wide(), "PD", "PS")
}

// commutative writes a sum or a product, whose first operand may be in memory.
func (l *lowering) commutative(v *value) {
	x, y := v.args[0], v.args[1]
	if fixed(y) {
		x, y = y, x
	}
	first, second := l.operand(x), l.register(l.take(y))
	to := l.result(v, l.done(x, y))
	l.line(l.instruction(v.op), first, second, l.register(to))
}

// ordered writes a difference or a quotient.
func (l *lowering) ordered(v *value) {
	x, y := v.args[0], v.args[1]
	second := l.operand(y)
	if x.op == "constant" {
		to := l.hold(v)
		l.line(l.instruction("VMOVU"), l.operand(x), l.register(to))
		l.done(x, y)
		l.line(l.instruction(v.op), second, l.register(to), l.register(to))
		return
	}
	first := l.operand(x)
	to := l.result(v, l.done(y, x))
	l.line(l.instruction(v.op), second, first, l.register(to))
}

// bound writes the larger or smaller of a value and a constant; NaN stays NaN.
func (l *lowering) bound(v *value) {
	x, limit := v.args[0], v.args[1]
	from := l.take(x)
	spare := l.hold(v)
	second := l.inRegister(limit, spare)
	l.line(l.instruction(v.op), l.register(from), second, l.register(choose(l.left[x] == 1, from, spare)))
	if l.left[x] == 1 {
		l.held[from], l.held[spare] = v, nil
	}
	l.done(limit, x)
}

// fused writes ab+c, ab-c or c-ab. The result replaces c or, if that is needed later, a factor.
func (l *lowering) fused(v *value) {
	a, b, c := v.args[0], v.args[1], v.args[2]
	if fixed(b) || !fixed(a) && b.op == "load" && l.at(b) < 0 {
		a, b = b, a
	}
	l.take(b)
	first := l.operand(a)
	last := func(x *value) bool { return !fixed(x) && l.left[x] == 1 }
	if last(c) {
		to := l.take(c)
		l.line(l.instruction(v.op), first, l.operand(b), l.register(to))
		l.done(a, b, c)
		l.held[to] = v
		return
	}
	if !last(b) && last(a) {
		a, b = b, a
	}
	to := l.take(b)
	if !last(b) {
		if a == b && l.left[a] == 2 {
			l.left[a]--
		} else {
			to = l.copyOf(to)
		}
	}
	third := l.operand(c)
	spare := slices.Index(append(l.held, nil), nil)
	l.line(strings.Replace(l.instruction(v.op), "231", "213", 1), third, l.inRegister(a, spare), l.register(to))
	if a.op == "constant" && spare == len(l.held) {
		l.held = append(l.held, nil)
	}
	l.done(a, b, c)
	l.held[to] = v
}

// rounded writes the rounding of a value to float32, or nothing for one that is only kept from
// being fused.
func (l *lowering) rounded(v *value) {
	x := v.args[0]
	to := l.take(x)
	if l.left[x] > 1 {
		to = l.copyOf(to)
	}
	l.done(x)
	l.held[to] = v
	if v.op == "round" {
		l.want(l.formula.wide(), "lanes of float64 for Round")
		l.line("narrow", l.register(to))
		l.line("widen", l.register(to))
	}
}

// macro writes a macro.
func (l *lowering) macro(v *value) {
	l.want(l.formula.wide() == (v.op != "quickDecay"), "no other function next to QuickDecay")
	x := v.args[0]
	for i, other := range l.held {
		if other != nil && other.op == "load" && other != x {
			l.held[i] = nil
		}
	}
	from := l.take(x)
	if l.left[x] > 1 && x.op != "load" {
		from = l.copyOf(from)
	}
	l.done(x)
	registers := []int{from}
	l.held[from] = v
	for range macroOf[v.op].registers - 1 {
		registers = append(registers, l.hold(v))
	}
	var names []string
	for i, r := range registers {
		names = append(names, l.register(r))
		if i != 2 {
			l.held[r] = nil
		}
	}
	for _, name := range strings.Fields(macroOf[v.op].constants) {
		l.constants[name] = true
	}
	l.line(v.op, names...)
}
