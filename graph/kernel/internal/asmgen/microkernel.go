package main

import (
	"fmt"

	"github.com/residua-go/residua/graph/kernel/internal/asm"
)

// microkernel is one function of the product: it computes tiles of rows x vecs*lanes of C.
type microkernel struct {
	isa
	rows, vecs int
	transposed bool // A is stored [k, rows]
	masked     bool // the last vector of a row is partial (only used if the isa lacks mask registers)
	pairs      bool // the elements of A and B are pairs of bfloat16 along k (pairs.go)
	half       bool // writes the form for rows of half a vector, see halves
	split      bool // splits pairs although the isa could multiply them
}

// kernels lists the micro-kernels of an instruction set for float32.
func (s isa) kernels() []microkernel { return s.tiles(s.maxRows, false) }

// panelVecs is the number of vectors of a panel of B.
const panelVecs = 2

// tiles lists micro-kernels of up to maxRows rows.
func (s isa) tiles(maxRows [3]int, pairs bool) []microkernel {
	var list []microkernel
	for vecs := 1; vecs <= panelVecs; vecs++ {
		for rows := 1; rows <= maxRows[vecs]; rows++ {
			for _, transposed := range []bool{false, true} {
				list = append(list, microkernel{isa: s, rows: rows, vecs: vecs, transposed: transposed, pairs: pairs})
				if !s.Masks {
					list = append(list, microkernel{isa: s, rows: rows, vecs: vecs, transposed: transposed, masked: true, pairs: pairs})
				}
			}
		}
	}
	return list
}

// splitTiles lists the micro-kernels that split pairs of an instruction set that could multiply
// them.
func (s isa) splitTiles() []microkernel {
	list := s.tiles(s.splitRows, true)
	for i := range list {
		list[i].split = true
	}
	return list
}

// name encodes the form of A (n as it is, t transposed), the tile and the masking.
func (k microkernel) name() string {
	form, mask := "n", ""
	if k.transposed {
		form = "t"
	}
	if k.masked {
		mask = "m"
	}
	switch {
	case k.split:
		form = "Split" + form
	case k.pairs:
		form = "Pairs" + form
	}
	return fmt.Sprintf("%s%s%dx%d%s", k.isa.Name, form, k.rows, k.vecs, mask)
}

// choice returns the number of the kernel in the switch that declare writes.
func (k microkernel) choice() int {
	n := k.rows<<2 | (k.vecs-1)<<1
	if k.transposed {
		n |= 1
	}
	if k.Masks {
		return n
	}
	n <<= 1
	if k.masked {
		n |= 1
	}
	return n
}

// Registers. The vector registers hold, in this order, accumulators (row by row), the vectors of
// B's row, and broadcast elements of A.
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

// regA holds pointers to A at the step: to rows 0, 3, 6 ...; the other rows are reached by index.
var regA = []string{"SI", "R8", "R9", "R10", "R11"}

func (k microkernel) acc(r, v int) string { return k.Vector(r*k.vecs + v) }
func (k microkernel) b(v int) string      { return k.Vector(k.rows*k.vecs + v) }

// free returns the i-th register that neither the accumulators nor B use; with fewer such registers
// it starts again from the first.
func (k microkernel) free(i int) string {
	first := (k.rows + 1) * k.vecs
	if k.splits() {
		first += k.vecs
	}
	n := k.Registers - first
	if k.masked {
		n-- // the last register holds the mask
	}
	return k.Vector(first + i%n)
}

// groups returns the number of A pointers in use.
func (k microkernel) groups() int {
	if k.transposed {
		return 1
	}
	return (k.rows + 2) / 3
}

func (k microkernel) signature() string { return k.name() + "(t *tile[float32])" }

func (k microkernel) emit(w *asm.Writer) {
	w.Function(k.signature(), 32, 8)
	k.emitArguments(w)
	if k.splits() {
		k.emitSplitArguments(w)
	}
	w.Label("tile")
	k.emitTileStart(w)
	if k.splits() {
		w.Op("LDMXCSR", flushingState)
	}
	if k.halves() {
		w.Op("CMPQ", "tile_cols(AX)", fmt.Sprintf("$%d", k.Lanes/2))
		w.Op("JEQ", "half")
	}
	k.emitSteps(w, "step")
	k.emitStore(w, "next")
	w.Return()
	if k.halves() {
		k.half = true
		k.emitSteps(w, "half")
		k.emitStore(w, "nextHalf")
		w.Return()
	}
}

// halves tells whether the kernel has a second form, for rows of half a vector. It loads and stores
// the lower half of a register, without a mask: a masked load would have to wait until earlier
// stores to any part of the whole vector's memory have reached the cache.
func (k microkernel) halves() bool { return k.Masks && k.vecs == 1 && !k.pairs }

// emitSteps adds up the products of a tile.
func (k microkernel) emitSteps(w *asm.Writer, label string) {
	w.Op("PCALIGN", "$64")
	w.Label(label)
	k.emitStep(w)
	w.Op("DECQ", regK)
	w.Op("JNZ", label)
	if k.splits() {
		w.Op("LDMXCSR", usualState)
	}
}

func (k microkernel) emitArguments(w *asm.Writer) {
	w.Op("MOVQ", "t+0(FP)", regTile)
	strides(w, "tile", "as", regAS, "bs", regBS, "cs", regCS)
	fields(w, "tile", "c", regC, "d", regD)
	w.Op("SUBQ", regC, regD)
	k.emitMask(w)
	w.List(`
		MOVQ tile_tiles(AX), CX
		MOVQ CX, tiles-8(SP)
		MOVQ tile_b(AX), CX
		MOVQ CX, b-32(SP)
		MOVQ tile_a(AX), SI
	`, nil)
}

func (k microkernel) emitMask(w *asm.Writer) {
	switch {
	case k.Masks:
		w.Op("MOVQ", "tile_cols(AX)", "CX")
		w.MaskBits("CX", "DI")
	case k.masked:
		w.Op("VPBROADCASTD", "tile_cols(AX)", k.Mask())
		w.Op("VPCMPGTD", "lanes<>(SB)", k.Mask(), k.Mask())
	}
}

// emitTileStart sets the pointers to the tile's A and B and clears the accumulators.
func (k microkernel) emitTileStart(w *asm.Writer) {
	w.Op("MOVQ", regA[0], "a-16(SP)")
	if g := k.groups(); g > 1 {
		triple(w, regAS, "CX")
		for i := 1; i < g; i++ {
			w.Op("LEAQ", fmt.Sprintf("(%s)(CX*1)", regA[i-1]), regA[i])
		}
	}
	k.emitPrefetch(w)
	w.Op("MOVQ", "b-32(SP)", regB)
	w.Op("MOVQ", "tile_k(AX)", regK)
	for r := range k.rows {
		for v := range k.vecs {
			zero(w, k.acc(r, v))
		}
	}
}

// emitPrefetch prefetches the tile's memory in C, if the sum takes long enough.
func (k microkernel) emitPrefetch(w *asm.Writer) {
	const longSum = 64
	w.Op("CMPQ", "tile_k(AX)", fmt.Sprintf("$%d", longSum))
	w.Op("JLT", "clear")
	w.Op("MOVQ", regC, "DI")
	for r := range k.rows {
		for line := 0; line < k.vecs*k.Size(); line += 64 {
			w.Op("PREFETCHT0", fmt.Sprintf("%d(DI)", line))
		}
		if r < k.rows-1 {
			w.Op("ADDQ", regCS, "DI")
		}
	}
	w.Label("clear")
}

// emitStep adds the products for one k, or a pair of them: acc[r, :] += A[r, k] * B[k, :].
func (k microkernel) emitStep(w *asm.Writer) {
	for v := range k.vecs {
		w.Load(k.atB(v, 0), k.stored(k.b(v)), k.partial(v))
	}
	if k.pairs && !k.transposed && k.rows <= fewRows { // B comes from memory, as in decoding
		for v := range k.vecs {
			w.Op("PREFETCHT0", k.atB(v, weightsAhead))
		}
	}
	w.Op("ADDQ", regBS, regB)
	if k.splits() {
		k.emitSplitB(w)
	}
	for r := range k.rows {
		k.emitProducts(w, r)
	}
	if k.transposed {
		w.Op("ADDQ", regAS, regA[0])
		return
	}
	for g := range k.groups() {
		w.Op("ADDQ", "$4", regA[g])
	}
}

// atB returns the address some bytes after vector v of B's row. The third and fourth vectors are in
// the next panel.
func (k microkernel) atB(v, ahead int) string {
	if v < panelVecs {
		return at(v*k.Size()+ahead, regB)
	}
	return fmt.Sprintf("%d(%s)(%s*1)", (v-panelVecs)*k.Size()+ahead, regB, regAS)
}

// emitProducts adds the products for row r of the tile.
func (k microkernel) emitProducts(w *asm.Writer, r int) {
	if k.splits() {
		k.emitSplitProducts(w, r)
		return
	}
	a := k.free(r)
	w.Op("VBROADCASTSS", k.a(r), a)
	for v := range k.vecs {
		if k.pairs {
			dotPairs(w, k.b(v), a, k.acc(r, v))
		} else {
			w.Op("VFMADD231PS", k.b(v), a, k.acc(r, v))
		}
	}
}

// a returns the address of A[r, k].
func (k microkernel) a(r int) string {
	switch {
	case k.transposed:
		return at(4*r, regA[0])
	case r%3 == 0:
		return fmt.Sprintf("(%s)", regA[r/3])
	}
	return fmt.Sprintf("(%s)(%s*%d)", regA[r/3], regAS, r%3)
}

// partial tells whether vector v of a row may be partial: the last one, if there is a mask.
func (k microkernel) partial(v int) bool { return v == k.vecs-1 && (k.Masks || k.masked) && !k.half }

// stored returns the part of a register that is loaded or stored at a time.
func (k microkernel) stored(register string) string {
	if k.half {
		return k.Half(register)
	}
	return register
}

// emitStore writes the tile, C = alpha acc + beta D, and advances to the next tile, at a label.
func (k microkernel) emitStore(w *asm.Writer, label string) {
	names := asm.Names{"alpha": k.b(0), "beta": k.free(0), "next": label, "store": label + "Zero"}
	w.List(`
		VBROADCASTSS tile_alpha(AX), alpha
		MOVL tile_beta(AX), CX
		TESTL CX, CX
		JZ store
		VBROADCASTSS tile_beta(AX), beta
	`, names)
	k.emitRows(w, k.b(0), k.free(0))
	w.List(`
		JMP next
		store:
	`, names)
	k.emitRows(w, k.b(0), "")
	w.List(`
		next:
		MOVQ tile_cn(AX), CX
		LEAQ (DX)(CX*4), DX
		MOVQ tile_bn(AX), CX
		SHLQ $2, CX
		ADDQ CX, b-32(SP)
		MOVQ tile_an(AX), CX
		MOVQ a-16(SP), SI
		LEAQ (SI)(CX*4), SI
		DECQ tiles-8(SP)
		JNZ tile
	`, names)
}

// emitRows writes the rows of C and leaves regC after the last; beta is empty for zero.
func (k microkernel) emitRows(w *asm.Writer, alpha, beta string) {
	alpha = k.stored(alpha)
	for r := range k.rows {
		for v := range k.vecs {
			sum := k.stored(k.acc(r, v))
			w.Op("VMULPS", alpha, sum, sum)
			if beta != "" {
				k.emitAddend(w, r, v, beta)
			}
			w.Store(sum, at(v*k.Size(), regC), k.partial(v))
		}
		w.Op("ADDQ", regCS, regC)
	}
}

// emitAddend adds beta D to vector v of row r.
func (k microkernel) emitAddend(w *asm.Writer, r, v int, beta string) {
	addend := fmt.Sprintf("%d(%s)(%s*1)", v*k.Size(), regC, regD)
	if !k.partial(v) {
		w.Op("VFMADD231PS", addend, k.stored(beta), k.stored(k.acc(r, v)))
		return
	}
	old := k.free(1)
	if old == beta { // no register is free: use an accumulator that is already stored, or B
		old = k.spare(r)
	}
	w.Load(addend, old, true)
	w.Op("VFMADD231PS", old, beta, k.acc(r, v))
}

// spare returns a register that is free while row r is stored: B's second vector, or the
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
