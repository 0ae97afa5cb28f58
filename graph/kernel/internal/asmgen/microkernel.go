package main

import "fmt"

// microkernel is one function of the product: tiles of rows x vecs*lanes of C.
type microkernel struct {
	isa
	rows, vecs int
	transposed bool // A is stored [k, rows]
	masked     bool // the last vector of a row is partial (only where the isa lacks mask registers)
}

// kernels lists the micro-kernels of an instruction set.
func (s isa) kernels() []microkernel {
	var list []microkernel
	for vecs := 1; vecs <= 2; vecs++ {
		for rows := 1; rows <= s.maxRows[vecs]; rows++ {
			for _, transposed := range []bool{false, true} {
				list = append(list, microkernel{s, rows, vecs, transposed, false})
				if !s.masks {
					list = append(list, microkernel{s, rows, vecs, transposed, true})
				}
			}
		}
	}
	return list
}

// name tells the form of A (n as it is, t transposed), the tile and the masking.
func (k microkernel) name() string {
	form, mask := "n", ""
	if k.transposed {
		form = "t"
	}
	if k.masked {
		mask = "m"
	}
	return fmt.Sprintf("%s%s%dx%d%s", k.isa.name, form, k.rows, k.vecs, mask)
}

// choice is the number that the kernel's switch case has in declare.
func (k microkernel) choice() int {
	n := k.rows<<2 | (k.vecs-1)<<1
	if k.transposed {
		n |= 1
	}
	if k.masks {
		return n
	}
	n <<= 1
	if k.masked {
		n |= 1
	}
	return n
}

// Registers. The vector registers are, in order: accumulators (row by row), the
// vectors of B's row, and broadcast elements of A.
const (
	regTile = "AX"  // *tile
	regC    = "DX"  // C at the tile
	regCS   = "BX"  // bytes between rows of C
	regK    = "CX"  // steps of k left
	regB    = "DI"  // B at the step
	regBS   = "R13" // bytes between rows of B
	regAS   = "R12" // bytes between stored rows of A
	regD    = "R15" // bytes from C to the addend
)

// regA holds A at the step: of rows 0, 3, 6 ... , the others being reached by index.
var regA = []string{"SI", "R8", "R9", "R10", "R11"}

func (k microkernel) acc(r, v int) string { return k.vector(r*k.vecs + v) }
func (k microkernel) b(v int) string      { return k.vector(k.rows*k.vecs + v) }

// free returns the i-th register that neither the accumulators nor B use, counting
// round if there are fewer.
func (k microkernel) free(i int) string {
	first := (k.rows + 1) * k.vecs
	n := k.registers - first
	if k.masked {
		n-- // the last register holds the mask
	}
	return k.vector(first + i%n)
}

func (k microkernel) mask() string {
	if k.masks {
		return "K1"
	}
	return k.vector(k.registers - 1)
}

// groups is the number of A pointers in use.
func (k microkernel) groups() int {
	if k.transposed {
		return 1
	}
	return (k.rows + 2) / 3
}

func (k microkernel) emit(w *writer) {
	w.line("")
	w.line("// func %s(t *tile[float32])", k.name())
	w.line("TEXT ·%s(SB), NOSPLIT, $16-8", k.name())
	k.emitArguments(w)
	w.label("tile")
	k.emitTileStart(w)
	w.label("step")
	k.emitStep(w)
	w.op("DECQ", regK)
	w.op("JNZ", "step")
	k.emitStore(w)
	w.op("VZEROUPPER")
	w.op("RET")
}

func (k microkernel) emitArguments(w *writer) {
	w.op("MOVQ", "t+0(FP)", regTile)
	w.op("MOVQ", "tile_as(AX)", regAS)
	w.op("SHLQ", "$2", regAS)
	w.op("MOVQ", "tile_bs(AX)", regBS)
	w.op("SHLQ", "$2", regBS)
	w.op("MOVQ", "tile_cs(AX)", regCS)
	w.op("SHLQ", "$2", regCS)
	w.op("MOVQ", "tile_c(AX)", regC)
	w.op("MOVQ", "tile_d(AX)", regD)
	w.op("SUBQ", regC, regD)
	k.emitMask(w)
	w.op("MOVQ", "tile_tiles(AX)", "CX")
	w.op("MOVQ", "CX", "tiles-8(SP)")
	w.op("MOVQ", "tile_a(AX)", regA[0])
}

func (k microkernel) emitMask(w *writer) {
	switch {
	case k.masks:
		w.op("MOVQ", "tile_cols(AX)", "CX")
		w.op("MOVL", "$1", "DI")
		w.op("SHLL", "CX", "DI")
		w.op("DECL", "DI")
		w.op("KMOVW", "DI", "K1")
	case k.masked:
		w.op("VPBROADCASTD", "tile_cols(AX)", k.mask())
		w.op("VPCMPGTD", "lanes<>(SB)", k.mask(), k.mask())
	}
}

// emitTileStart points at the tile's A and B and clears the accumulators.
func (k microkernel) emitTileStart(w *writer) {
	w.op("MOVQ", regA[0], "a-16(SP)")
	if g := k.groups(); g > 1 {
		w.op("LEAQ", fmt.Sprintf("(%s)(%s*2)", regAS, regAS), "CX")
		for i := 1; i < g; i++ {
			w.op("LEAQ", fmt.Sprintf("(%s)(CX*1)", regA[i-1]), regA[i])
		}
	}
	k.emitPrefetch(w)
	w.op("MOVQ", "tile_b(AX)", regB)
	w.op("MOVQ", "tile_k(AX)", regK)
	for r := range k.rows {
		for v := range k.vecs {
			if k.masks {
				w.op("VPXORD", k.acc(r, v), k.acc(r, v), k.acc(r, v))
			} else {
				w.op("VXORPS", k.acc(r, v), k.acc(r, v), k.acc(r, v))
			}
		}
	}
}

// emitPrefetch asks for the tile's place in C early, where the sum takes long enough.
func (k microkernel) emitPrefetch(w *writer) {
	const longSum = 64
	w.op("CMPQ", "tile_k(AX)", fmt.Sprintf("$%d", longSum))
	w.op("JLT", "clear")
	w.op("MOVQ", regC, "DI")
	for r := range k.rows {
		for line := 0; line < k.vecs*k.bytes(); line += 64 {
			w.op("PREFETCHT0", fmt.Sprintf("%d(DI)", line))
		}
		if r < k.rows-1 {
			w.op("ADDQ", regCS, "DI")
		}
	}
	w.label("clear")
}

// emitStep adds one k: acc[r, :] += A[r, k] * B[k, :].
func (k microkernel) emitStep(w *writer) {
	for v := range k.vecs {
		k.emitLoad(w, fmt.Sprintf("%d(%s)", v*k.bytes(), regB), k.b(v), v == k.vecs-1)
	}
	w.op("ADDQ", regBS, regB)
	for r := range k.rows {
		a := k.free(r)
		w.op("VBROADCASTSS", k.a(r), a)
		for v := range k.vecs {
			w.op("VFMADD231PS", k.b(v), a, k.acc(r, v))
		}
	}
	if k.transposed {
		w.op("ADDQ", regAS, regA[0])
		return
	}
	for g := range k.groups() {
		w.op("ADDQ", "$4", regA[g])
	}
}

// a is the address of A[r, k].
func (k microkernel) a(r int) string {
	switch {
	case k.transposed:
		return fmt.Sprintf("%d(%s)", 4*r, regA[0])
	case r%3 == 0:
		return fmt.Sprintf("(%s)", regA[r/3])
	}
	return fmt.Sprintf("(%s)(%s*%d)", regA[r/3], regAS, r%3)
}

// emitLoad loads a vector, of which the last of a row may be partial.
func (k microkernel) emitLoad(w *writer, from, to string, last bool) {
	switch {
	case last && k.masks:
		w.op("VMOVUPS.Z", from, k.mask(), to)
	case last && k.masked:
		w.op("VMASKMOVPS", from, k.mask(), to)
	default:
		w.op("VMOVUPS", from, to)
	}
}

func (k microkernel) emitRowStore(w *writer, from, to string, last bool) {
	switch {
	case last && k.masks:
		w.op("VMOVUPS", from, k.mask(), to)
	case last && k.masked:
		w.op("VMASKMOVPS", from, k.mask(), to)
	default:
		w.op("VMOVUPS", from, to)
	}
}

// emitStore writes the tile, C = alpha acc + beta D, and goes to the next one.
func (k microkernel) emitStore(w *writer) {
	alpha, beta := k.b(0), k.free(0)
	w.op("VBROADCASTSS", "tile_alpha(AX)", alpha)
	w.op("MOVL", "tile_beta(AX)", "CX")
	w.op("TESTL", "CX", "CX")
	w.op("JZ", "store")
	w.op("VBROADCASTSS", "tile_beta(AX)", beta)
	k.emitRows(w, alpha, beta)
	w.op("JMP", "next")
	w.label("store")
	k.emitRows(w, alpha, "")
	w.label("next")
	w.op("MOVQ", "a-16(SP)", regA[0])
	if k.transposed {
		w.op("ADDQ", fmt.Sprintf("$%d", 4*k.rows), regA[0])
	} else {
		w.op("IMUL3Q", fmt.Sprintf("$%d", k.rows), regAS, "CX")
		w.op("ADDQ", "CX", regA[0])
	}
	w.op("DECQ", "tiles-8(SP)")
	w.op("JNZ", "tile")
}

// emitRows writes the rows of C and leaves regC below them; beta is empty for zero.
func (k microkernel) emitRows(w *writer, alpha, beta string) {
	for r := range k.rows {
		for v := range k.vecs {
			last := v == k.vecs-1
			w.op("VMULPS", alpha, k.acc(r, v), k.acc(r, v))
			if beta != "" {
				addend := fmt.Sprintf("%d(%s)(%s*1)", v*k.bytes(), regC, regD)
				if last && (k.masks || k.masked) {
					old := k.free(1)
					if old == beta { // none free: an accumulator that is already stored, or B
						old = k.spare(r)
					}
					k.emitLoad(w, addend, old, true)
					w.op("VFMADD231PS", old, beta, k.acc(r, v))
				} else {
					w.op("VFMADD231PS", addend, beta, k.acc(r, v))
				}
			}
			k.emitRowStore(w, k.acc(r, v), fmt.Sprintf("%d(%s)", v*k.bytes(), regC), last)
		}
		w.op("ADDQ", regCS, regC)
	}
}

// spare is a register that is free while row r is stored: B's second vector, or the
// accumulator of the row above.
func (k microkernel) spare(r int) string {
	if k.vecs > 1 {
		return k.b(1)
	}
	if r == 0 {
		panic(k.name() + ": no register for the addend")
	}
	return k.acc(r-1, 0)
}
