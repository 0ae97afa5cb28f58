package main

import "github.com/residua-go/residua/graph/kernel/internal/asm"

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

// tileColumns makes tiles of an A that is stored [k, rows]: it pairs the elements of two stored rows,
// then transposes the pairs. Tiles take 16 columns each of 32 stored rows, which are ss elements
// apart, and are ds elements apart.
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
	square{k.isa}.emitTranspose(w)
	for r := range 16 {
		w.Op("VMOVUPS", k.Vector(square{k.isa}.output(r)), at(64*r, "DI"))
	}
	w.List(`
		ADDQ $32, SI
		ADDQ R8, DI
		DECQ CX
		JNZ tile
	`, nil)
	w.Return()
}
