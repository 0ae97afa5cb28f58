package main

import (
	"fmt"
	"strings"

	"github.com/residua-go/residua/graph/kernel/internal/asm"
)

// bfloat16 lists the routines for bfloat16: tiles of products, and conversions and pairing of
// elements.
func (s isa) bfloat16() []family {
	partial, choice := "", "rows<<2 | (vecs-1)<<1 | bit(transposed)"
	if !s.Masks {
		partial, choice = ", partial", "rows<<3 | (vecs-1)<<2 | bit(transposed)<<1 | bit(partial)"
	}
	chooser := fmt.Sprintf("%%PairTile runs the micro-kernel of pairs for tiles of rows x vecs vectors.\n"+
		"func %%PairTile(rows, vecs int, transposed%s bool, t *tile[float32]) {\nswitch %s {", partial, choice)
	families := []family{
		newFamily(s.tiles(s.pairRows, true), chooser, microkernel.choice),
		newFamily(s.conversions(), "", nil),
	}
	if s.Masks {
		families = append(families, newFamily([]microkernel{s.twoPanels()}, "", nil),
			newFamily(s.splitTiles(), strings.Replace(strings.ReplaceAll(chooser, "PairTile", "SplitTile"), "micro-kernel of pairs",
				"micro-kernel that splits pairs", 1), microkernel.choice))
	}
	return families
}

// twoPanels is the micro-kernel for a single row of C and two panels of B. One panel alone would
// keep it waiting for its sums, of which each step adds to two. The distance between the panels
// is in the field as.
func (s isa) twoPanels() microkernel {
	return microkernel{isa: s, rows: 1, vecs: 2 * panelVecs, pairs: true}
}

// bfloat16Step is the number of elements that a conversion handles in one step; its count of
// elements must be a multiple of it.
const bfloat16Step = 16

// conversion is a routine that walks along slices of n elements.
type conversion struct {
	isa
	header    string // the signature, after the name of the instruction set
	slices    []conversionSlice
	registers []string // names of the registers of each vector
	start     string   // the listing before the loop
	vector    string   // handles a vector, for each of a step
	end       string   // ends a step
}

// conversionSlice is an argument, with its register and the bytes of an element.
type conversionSlice struct {
	name, register string
	size           int
}

// conversions lists the conversions of an instruction set.
func (s isa) conversions() []conversion {
	dst, src, odd := conversionSlice{"dst", "DI", 4}, conversionSlice{"src", "SI", 2}, conversionSlice{"odd", "DX", 2}
	return []conversion{
		s.rounding(),
		{
			isa: s, header: "Widen(dst *float32, src *BFloat16, n int)", slices: []conversionSlice{dst, src}, registers: []string{"x"},
			vector: `
				VPMOVZXWD half(SI), x
				VPSLLD $16, x, x
				VMOVUPS x, whole(DI)
			`,
		},
		{ // pairs the elements of two rows, with the even row (src) in the lower halves
			isa: s, header: "Interleave(dst *float32, src, odd *BFloat16, n int)", slices: []conversionSlice{dst, src, odd}, registers: []string{"even", "odd"},
			vector: `
				VPMOVZXWD half(SI), even
				VPMOVZXWD half(DX), odd
				VPSLLD $16, odd, odd
				or odd, even, even
				VMOVUPS even, whole(DI)
			`,
		},
	}
}

// rounding returns the conversion that rounds float32 to bfloat16, to nearest, ties to even, by
// integer arithmetic: VCVTNEPS2BF16 would flush denormals to zero. The rounded halves of the
// vectors lie in register 1 and, with AVX2, 5.
func (s isa) rounding() conversion {
	k := conversion{
		isa: s, header: "Round(dst *BFloat16, src *float32, n int)",
		slices: []conversionSlice{{"dst", "DI", 2}, {"src", "SI", 4}}, registers: []string{"x", "rounded", "nan", "quiet"},
		start: fill("$0x7fff", 8) + fill("$1", 9) + fill("$0x400000", 10),
	}
	rounded := `
		VMOVUPS whole(SI), x
		VPSRLD $16, x, rounded
		and v9, rounded, rounded
		VPADDD v8, rounded, rounded
		VPADDD x, rounded, rounded
	`
	// $3 compares whether x is unordered, a NaN, which register 10 makes quiet.
	if s.Masks {
		k.vector = rounded + `
			VCMPPS $3, x, x, K2
			VPORD v10, x, K2, rounded
			VPSRLD $16, rounded, rounded
		`
		k.end = "VPMOVDW Z1, (DI)"
		return k
	}
	k.vector = rounded + `
		VCMPPS $3, x, x, nan
		VPOR v10, x, quiet
		VBLENDVPS nan, quiet, rounded, rounded
		VPSRLD $16, rounded, rounded
	`
	k.end = `
		VPACKUSDW Y5, Y1, Y1
		VPERMQ $0xd8, Y1, Y1
		VMOVDQU Y1, (DI)
	`
	return k
}

// fill returns a listing that fills a vector register with a value.
func fill(value string, register int) string {
	return fmt.Sprintf(`
		MOVL %[1]s, AX
		VMOVD AX, X%[2]d
		VPBROADCASTD X%[2]d, v%[2]d
	`, value, register)
}

func (k conversion) signature() string { return k.isa.Name + k.header }

func (k conversion) emit(w *asm.Writer) {
	w.Function(k.signature(), 0, 8*len(k.slices)+8)
	names := asm.Names{"v": k.Vector, "and": "VPAND", "or": "VPOR"}
	if k.Masks {
		names["and"], names["or"] = "VPANDD", "VPORD"
	}
	w.List(k.start, names)
	for i, s := range k.slices {
		w.Op("MOVQ", fmt.Sprintf("%s+%d(FP)", s.name, 8*i), s.register)
	}
	w.Op("MOVQ", fmt.Sprintf("n+%d(FP)", 8*len(k.slices)), "CX")
	w.Label("step")
	for i := range bfloat16Step / k.Lanes {
		for j, name := range k.registers {
			names[name] = k.Vector(i*len(k.registers) + j)
		}
		names["whole"], names["half"] = i*k.Size(), i*k.Size()/2
		w.List(k.vector, names)
	}
	w.List(k.end, names)
	for _, s := range k.slices {
		w.OpNumber("ADDQ", s.size*bfloat16Step, s.register)
	}
	w.OpNumber("SUBQ", bfloat16Step, "CX")
	w.Op("JNZ", "step")
	w.Return()
}
