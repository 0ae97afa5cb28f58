package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/residua-go/residua/graph/kernel/internal/asm"
)

// macros are the listings that others name like an instruction, by their names. The first line of
// each has its name and its parameters.
var macros = byName(exp2, exp2Powers, geluExponent, normalTail, decay, quickDecay,
	expSingle, expSingleWithin, tanhRatio, positive)

func byName(listings ...string) map[string]string {
	named := map[string]string{}
	for _, m := range listings {
		named[words(m)[0]] = m
	}
	return named
}

// words splits a line of a listing, or one with its comment, into the instruction and its operands.
func words(line string) []string {
	line, _, _ = strings.Cut(strings.TrimLeft(line, "\n"), "\n")
	line, _, _ = strings.Cut(line, "//")
	return strings.Fields(strings.ReplaceAll(line, ",", " "))
}

var word = regexp.MustCompile(`\w+`)

// expand returns the lines of a macro with arguments in place of its parameters.
func expand(macro string, arguments []string) string {
	heading, lines, _ := strings.Cut(macro, "\n")
	parameters := words(heading)[1:]
	return word.ReplaceAllStringFunc(lines, func(name string) string {
		if i := slices.Index(parameters, name); i >= 0 {
			return arguments[i]
		}
		return name
	})
}

// run writes the instructions of a listing for the current vector. A line has an instruction of the
// processor, one of those below, or a macro; see operand for what it may name.
func (b *builder) run(listing string) {
	for _, x := range flat(listing) {
		b.instruction(x[0], x[1:])
	}
}

// flat returns the lines of a listing with those of macros in their places.
func flat(listing string) (lines [][]string) {
	for line := range strings.Lines(listing) {
		x := words(line)
		switch {
		case len(x) == 0:
		case macros[x[0]] != "":
			lines = append(lines, flat(expand(macros[x[0]], x[1:]))...)
		default:
			lines = append(lines, x)
		}
	}
	return lines
}

func (b *builder) instruction(name string, x []string) {
	slice := ""
	switch {
	case name == "load" || name == "loadOr":
		slice, x = x[0], x[1:]
	case name == "store" || name == "storeWhole":
		slice, x = x[1], x[:1]
	case x[0] == "PD" || x[0] == "PS": // the end of the name, as an argument of a macro
		name, x = name+x[0], x[1:]
	}
	operands := make([]string, len(x))
	for i, operand := range x {
		operands[i] = b.operand(operand)
	}
	switch to := operands[len(x)-1]; name {
	case "load":
		b.load(slice, to)
	case "loadOr":
		b.loadOr(slice, operands[0], to)
	case "store":
		b.store(to, slice, b.masked)
	case "storeWhole": // all lanes, also of a partial vector
		b.store(to, slice, false)
	case "zero": // clears a register with a number below 16
		if half := asm.Quarter(to); b.NEON() {
			b.neon("VPXOR", to, to, to)
		} else {
			b.Op("VXORPS", half, half, half)
		}
	case "clearRest":
		b.clearRest(to)
	case "widen": // float32 elements in the lower half of a register to float64 lanes
		if b.NEON() {
			b.Neon("FCVTL", "", to, to)
		} else {
			b.Op("VCVTPS2PD", b.Half(to), to)
		}
	case "narrow": // float64 lanes to float32 elements in the lower half
		b.narrow(to)
	case "VPAND", "VPOR", "VPXOR":
		if b.Masks { // AVX-512F's names include the size of a lane
			name += "Q"
		}
		fallthrough
	default:
		b.op(name, operands...)
	}
}

// op writes an instruction of a listing.
func (b *builder) op(name string, operands ...string) {
	if b.NEON() {
		b.neon(name, operands...)
	} else {
		b.Op(name, operands...)
	}
}

// operand returns what a word of a listing names: a register of the current vector, the register of
// a number, or a constant, which AVX2 has in memory; constant@register is for instructions that
// need a register: AVX2 loads it into the given one, as NEON does with one that none holds.
// Immediate operands, $n, remain as they are.
func (b *builder) operand(name string) string {
	name, register, inRegister := strings.Cut(name, "@")
	if i := slices.Index(b.scratchNames, name); i >= 0 {
		return b.r(i)
	}
	if i := slices.Index(b.keptNames, name); i >= 0 {
		return b.keptOf(b.vector, i)
	}
	if held, ok := b.registers[name]; ok {
		return held
	}
	switch memory := name + "<>(SB)"; {
	case strings.HasPrefix(name, "$"):
		return name
	case !slices.Contains(b.constantNames, name):
		panic(b.name + ": want a register, a number or a constant that the routine lists, got " + name)
	case b.NEON() && inRegister:
		return b.neonConstant(name, b.operand(register))
	case b.NEON():
		return b.neonConstant(name, b.spill)
	case inRegister:
		b.Op("VMOVUPS", memory, b.operand(register))
		return b.operand(register)
	default:
		return memory
	}
}
