package main

import (
	"fmt"

	"github.com/residua-go/residua/graph/kernel/internal/asm"
)

// gemv is a micro-kernel for matrix-vector products with several vectors at a time. It multiplies
// as many rows of a matrix as a vector has lanes by each of the vectors,
//
//	y[v][j] = sum_k a[v][k] x[j][k]
//
// with each sum in its own lane, in the order of k: squares of the matrix are transposed in
// registers. It prefetches the memory after its rows, as much as they have, in the order of memory.
type gemv struct {
	isa
	vectors int
}

// gemvVectors is the largest number of vectors.
const gemvVectors = 4

// gemvFields are the 8-byte fields of kernel.gemvTile[float32], in order. A test of package
// kernel compares them with the struct.
var gemvFields = []string{"y", "ys", "a", "as", "x", "xs", "squares", "ahead"}

// gemvs lists the kernels of an instruction set. They exist only for AVX2, for the reason given at
// axpys.
func (s isa) gemvs() []gemv {
	if s.Masks {
		return nil
	}
	var list []gemv
	for vectors := 1; vectors <= gemvVectors; vectors++ {
		list = append(list, gemv{s, vectors})
	}
	return list
}

func (k gemv) name() string { return fmt.Sprintf("%sGemv%d", k.isa.Name, k.vectors) }

// The general registers of gemv that differ from those of the product and axpy.
const (
	regAhead   = "R10" // what to prefetch
	regSquares = "CX"  // squares left
)

// The vector registers begin with those of square, the first four of which are free after the
// transpose; the sums follow.
func (k gemv) element(v int) string { return k.Vector(v) }
func (k gemv) sum(v int) string     { return k.Vector(k.Lanes + 4 + v) }

func (k gemv) signature() string { return k.name() + "(t *gemvTile[float32])" }

func (k gemv) emit(w *asm.Writer) {
	q := square{k.isa}
	w.Function(k.signature(), 0, 8)
	k.emitArguments(w)
	for v := range k.vectors {
		zero(w, k.sum(v))
	}
	w.Label("square")
	for r := range k.Lanes {
		w.Op("VMOVUPS", xRow(r), k.Vector(r))
	}
	for line := range k.Lanes * k.Size() / 64 {
		w.Op("PREFETCHT1", at(64*line, regAhead))
	}
	q.emitTranspose(w)
	for r := range k.Lanes {
		for v := range k.vectors {
			w.Op("VBROADCASTSS", fmt.Sprintf("%d%s", 4*r, rowAddress(regA1, regRows, regA3, v)), k.element(v))
			w.Op("VFMADD231PS", k.element(v), k.Vector(q.output(r)), k.sum(v))
		}
	}
	w.List(`
		ADDQ $size, SI // a, and both pointers to rows of x
		ADDQ $size, DI
		ADDQ $size, R15
		ADDQ $bytes, R10 // what to prefetch
		DECQ CX
		JNZ square
	`, asm.Names{"size": k.Size(), "bytes": k.Lanes * k.Size()})
	for v := range k.vectors {
		w.Op("VMOVUPS", k.sum(v), "(DX)")
		if v < k.vectors-1 {
			w.Op("ADDQ", regCS, regC)
		}
	}
	w.Return()
}

func (k gemv) emitArguments(w *asm.Writer) {
	w.Op("MOVQ", "t+0(FP)", regTile)
	fields(w, "gemv", "y", regC, "a", regA1, "x", regX)
	strides(w, "gemv", "ys", regCS, "as", regRows, "xs", regXS)
	triple(w, regRows, regA3)
	fields(w, "gemv", "squares", regSquares)
	strides(w, "gemv", "ahead", regAhead)
	w.Op("LEAQ", fmt.Sprintf("(%s)(%s*4)", regX, regXS), regXFour)
	w.Op("ADDQ", regX, regAhead)
	triple(w, regXS, regX3)
}
