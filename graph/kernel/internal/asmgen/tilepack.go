package main

import (
	"github.com/residua-go/residua/graph/kernel/internal/asm"
)

// tileRow copies a row of A into tiles of 16 rows of 64 bytes: each 64 bytes to the next tile.
type tileRow struct{ isa }

func (tileRow) signature() string { return "amxCopyRow(dst, src *BFloat16, tiles int)" }

func (k tileRow) emit(w *asm.Writer) {
	w.Function(k.signature(), 0, 24)
	w.List(`
		MOVQ dst+0(FP), DI
		MOVQ src+8(FP), SI
		MOVQ tiles+16(FP), CX
		tile:
		VMOVDQU64 (SI), Z0
		VMOVDQU64 Z0, (DI)
		ADDQ $64, SI
		ADDQ $1024, DI
		DECQ CX
		JNZ tile
	`, nil)
	w.Return()
}

// tileColumns makes tiles of an A that is stored [k, rows]: it pairs the elements of two stored
// rows, then transposes the pairs. A tile takes 16 columns of 32 stored rows, which are ss
// elements apart; the tiles are ds elements apart.
type tileColumns struct{ isa }

func (tileColumns) signature() string {
	return "amxTransposeRows(dst *BFloat16, ds int, src *BFloat16, ss int, tiles int)"
}

func (k tileColumns) emit(w *asm.Writer) {
	w.Function(k.signature(), 0, 40)
	w.List(`
		MOVQ dst+0(FP), DI
		MOVQ ds+8(FP), R8
		SHLQ $1, R8
		MOVQ src+16(FP), SI
		MOVQ ss+24(FP), BX
		SHLQ $1, BX
		MOVQ tiles+32(FP), CX
		tile:
		MOVQ SI, DX
	`, nil)
	for r := range 16 {
		w.List(`
			VPMOVZXWD (DX), even
			VPMOVZXWD (DX)(BX*1), odd
			LEAQ (DX)(BX*2), DX
			VPSLLD $16, odd, odd
			VPORD odd, even, even
		`, asm.Names{"even": k.Vector(r), "odd": k.Vector(16 + r)})
	}
	square(k).emitTranspose(w)
	for r := range 16 {
		w.Op("VMOVUPS", k.Vector(square(k).output(r)), at(64*r, "DI"))
	}
	w.List(`
		ADDQ $32, SI
		ADDQ R8, DI
		DECQ CX
		JNZ tile
	`, nil)
	w.Return()
}

// roundRows rounds rows of scores, each multiplied by a factor, to rows of end bfloat16, a multiple
// of 32. Row i has min(max(n+i, 0), limit) scores; zeros follow.
type roundRows struct{ isa }

func (roundRows) signature() string {
	return "amxRoundRows(dst *BFloat16, ds int, src *float32, ss, rows, n, limit, end int, factor float32)"
}

func (k roundRows) emit(w *asm.Writer) {
	w.Function(k.signature(), 0, 68)
	w.List(`
		MOVQ dst+0(FP), DI
		MOVQ ds+8(FP), R8
		SHLQ $1, R8
		MOVQ src+16(FP), SI
		MOVQ ss+24(FP), R9
		SHLQ $2, R9
		MOVQ rows+32(FP), R10
		MOVQ n+40(FP), R11
		MOVQ limit+48(FP), R12
		MOVQ end+56(FP), R13
		VBROADCASTSS factor+64(FP), Z2
		row:
		MOVQ R11, DX // scores left
		CMPQ DX, R12
		CMOVQGT R12, DX
		XORQ AX, AX
		step:
		MOVQ DX, CX // of this step: 0 to 32
		SUBQ AX, CX
		MOVQ $32, BX
		CMPQ CX, BX
		CMOVQGT BX, CX
		MOVQ $0, BX
		CMPQ CX, BX
		CMOVQLT BX, CX
		MOVQ $1, BX
		SHLQ CX, BX
		DECQ BX
		KMOVW BX, K1
		SHRQ $16, BX
		KMOVW BX, K2
		VMOVUPS.Z (SI)(AX*4), K1, Z0
		VMOVUPS.Z 64(SI)(AX*4), K2, Z1
		VMULPS Z2, Z0, Z0
		VMULPS Z2, Z1, Z1
	`, nil)
	w.Line("%s", roundPair(0, 1, 0))
	w.List(`
		VMOVDQU64 Z0, (DI)(AX*2)
		ADDQ $32, AX
		CMPQ AX, R13
		JLT step
		INCQ R11
		ADDQ R8, DI
		ADDQ R9, SI
		DECQ R10
		JNZ row
	`, nil)
	w.Return()
}
