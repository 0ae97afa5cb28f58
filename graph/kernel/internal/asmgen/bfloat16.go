package main

import (
	"fmt"

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
	return []family{
		newFamily(s.tiles(s.pairRows, true), chooser, microkernel.choice),
		newFamily([]roundBFloat16{{s}}, "", nil),
		newFamily([]widenBFloat16{{s}}, "", nil),
		newFamily([]interleave{{s}}, "", nil),
	}
}

// bfloat16Step is the number of elements that a conversion handles in one step; its count of
// elements must be a multiple of it.
const bfloat16Step = 16

// emitSteps writes a conversion with its pointers, which are registers of arguments, and n in CX.
// step writes one step at the pointers, which then advance by the given numbers of bytes.
func emitSteps(w *asm.Writer, pointers []string, bytes []int, step func()) {
	for i, register := range pointers {
		w.Op("MOVQ", fmt.Sprintf("%s+%d(FP)", conversionArguments[register], 8*i), register)
	}
	w.Op("MOVQ", fmt.Sprintf("n+%d(FP)", 8*len(pointers)), "CX")
	w.Label("step")
	step()
	for i, register := range pointers {
		w.OpNumber("ADDQ", bytes[i], register)
	}
	w.OpNumber("SUBQ", bfloat16Step, "CX")
	w.Op("JNZ", "step")
	w.Return()
}

// conversionArguments maps registers to names of arguments.
var conversionArguments = map[string]string{"DI": "dst", "SI": "src", "DX": "odd"}

// constant fills a vector register.
func constant(w *asm.Writer, value, register string) {
	w.Op("MOVL", value, "AX")
	w.Op("VMOVD", "AX", asm.Quarter(register))
	w.Op("VPBROADCASTD", asm.Quarter(register), register)
}

// roundBFloat16 rounds float32 to bfloat16, to nearest, ties to even, by integer arithmetic:
// VCVTNEPS2BF16 would flush denormals to zero.
type roundBFloat16 struct{ isa }

func (k roundBFloat16) signature() string {
	return k.isa.Name + "Round(dst *BFloat16, src *float32, n int)"
}

func (k roundBFloat16) emit(w *asm.Writer) {
	w.Function(k.signature(), 0, 24)
	constant(w, "$0x7fff", k.Vector(8))
	constant(w, "$1", k.Vector(9))
	constant(w, "$0x400000", k.Vector(10)) // makes a NaN quiet
	emitSteps(w, []string{"DI", "SI"}, []int{2 * bfloat16Step, 4 * bfloat16Step}, func() {
		for i := range bfloat16Step / k.Lanes {
			k.emitRound(w, i*k.Size(), 4*i)
		}
		if k.Masks {
			w.Op("VPMOVDW", "Z1", "(DI)")
			return
		}
		w.Op("VPACKUSDW", "Y5", "Y1", "Y1")
		w.Op("VPERMQ", "$0xd8", "Y1", "Y1")
		w.Op("VMOVDQU", "Y1", "(DI)")
	})
}

// emitRound rounds a vector that lies the given number of bytes after SI, into the lower halves of
// register first+1.
func (k roundBFloat16) emitRound(w *asm.Writer, bytes, first int) {
	x, rounded := k.Vector(first), k.Vector(first+1)
	nan, quiet := k.Vector(first+2), k.Vector(first+3)
	and, or := "VPAND", "VPOR"
	if k.Masks {
		and, or = "VPANDD", "VPORD"
	}
	w.Op("VMOVUPS", at(bytes, "SI"), x)
	w.Op("VPSRLD", "$16", x, rounded)
	w.Op(and, k.Vector(9), rounded, rounded)
	w.Op("VPADDD", k.Vector(8), rounded, rounded)
	w.Op("VPADDD", x, rounded, rounded)
	const unordered = "$3"
	if k.Masks {
		w.Op("VCMPPS", unordered, x, x, "K2")
		w.Op(or, k.Vector(10), x, "K2", rounded)
	} else {
		w.Op("VCMPPS", unordered, x, x, nan)
		w.Op(or, k.Vector(10), x, quiet)
		w.Op("VBLENDVPS", nan, quiet, rounded, rounded)
	}
	w.Op("VPSRLD", "$16", rounded, rounded)
}

// widenBFloat16 converts bfloat16 to float32.
type widenBFloat16 struct{ isa }

func (k widenBFloat16) signature() string {
	return k.isa.Name + "Widen(dst *float32, src *BFloat16, n int)"
}

func (k widenBFloat16) emit(w *asm.Writer) {
	w.Function(k.signature(), 0, 24)
	emitSteps(w, []string{"DI", "SI"}, []int{4 * bfloat16Step, 2 * bfloat16Step}, func() {
		for i := range bfloat16Step / k.Lanes {
			w.Op("VPMOVZXWD", at(i*k.Size()/2, "SI"), k.Vector(i))
			w.Op("VPSLLD", "$16", k.Vector(i), k.Vector(i))
			w.Op("VMOVUPS", k.Vector(i), at(i*k.Size(), "DI"))
		}
	})
}

// interleave pairs the elements of two rows, with the even row (src) in the lower halves.
type interleave struct{ isa }

func (k interleave) signature() string {
	return k.isa.Name + "Interleave(dst *float32, src, odd *BFloat16, n int)"
}

func (k interleave) emit(w *asm.Writer) {
	or := "VPOR"
	if k.Masks {
		or = "VPORD"
	}
	w.Function(k.signature(), 0, 32)
	emitSteps(w, []string{"DI", "SI", "DX"}, []int{4 * bfloat16Step, 2 * bfloat16Step, 2 * bfloat16Step}, func() {
		for i := range bfloat16Step / k.Lanes {
			even, odd := k.Vector(2*i), k.Vector(2*i+1)
			w.Op("VPMOVZXWD", at(i*k.Size()/2, "SI"), even)
			w.Op("VPMOVZXWD", at(i*k.Size()/2, "DX"), odd)
			w.Op("VPSLLD", "$16", odd, odd)
			w.Op(or, odd, even, even)
			w.Op("VMOVUPS", even, at(i*k.Size(), "DI"))
		}
	})
}
