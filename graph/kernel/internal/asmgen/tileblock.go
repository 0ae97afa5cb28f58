package main

import (
	"fmt"

	"github.com/residua-go/residua/graph/kernel/internal/asm"
)

// tileBlockFields are the 8-byte fields of kernel.tileBlock after its 64 bytes of shapes, in order.
// A test of package kernel compares them with the struct.
var tileBlockFields = []string{"a", "b", "c", "d", "tail", "sums", "as", "ak", "bs", "bk", "cs", "steps", "blocks", "an", "bn", "cn", "tn", "sn",
	"keep", "rows", "columns"}

// tileBlock is a micro-kernel by AMX: it computes blocks of 16 rows and one or two tiles of columns
// of C, one after another, for each of several calls with the same shapes. It configures the tiles
// at its beginning and releases them before it returns, and calls nothing, so that Go never stops
// it in between (runtime.isAsyncSafePoint refuses assembly). The kernel of the operating system
// keeps tiles over interrupts.
//
// A processor renames a tile when it is loaded. Where both threads of a core are in use, few
// physical tiles are left, and a load waits for an older one. So the kernel with the fewest tiles
// in use is the fastest: one of A, and one that both of B take in turns.
type tileBlock struct {
	isa
	columns int  // tiles of C
	rounded bool // C is bfloat16
	spread  bool // B's second tile is partial and so has a register of its own
}

// tileBlocks lists the micro-kernels.
func (s isa) tileBlocks() []tileBlock {
	return []tileBlock{
		{s, 1, false, false}, {s, 2, false, false}, {s, 2, false, true},
		{s, 1, true, false}, {s, 2, true, false},
	}
}

func (k tileBlock) signature() string {
	name := "amxBlock"
	if k.rounded {
		name = "amxRounded"
	}
	if k.spread {
		name += "Spread"
	}
	return fmt.Sprintf("%s%d(t *tileBlock, calls int)", name, k.columns)
}

// The tiles: the sums, then A's and B's.
func (k tileBlock) a() int { return k.columns }

func (k tileBlock) b(column int) int {
	if k.spread {
		return k.columns + 1 + column
	}
	return k.columns + 1
}

// emit uses AX for the tileBlock, SI, DI and DX for A, B and C at the step, R12, R13 and BX for the
// bytes between their rows, R15 for the bytes between steps of A, and CX to count.
func (k tileBlock) emit(w *asm.Writer) {
	w.Function(k.signature(), 48, 16)
	w.Op("MOVQ", "t+0(FP)", "AX")
	w.Op("MOVQ", "calls+8(FP)", "CX")
	w.Op("MOVQ", "CX", "calls-48(SP)")
	w.Line("%s", loadTileConfig("AX"))
	w.Label("call")
	fields(w, "tileBlock", "as", "R12", "ak", "R15", "bs", "R13", "c", "DX", "d", "R8")
	w.List(`
		SUBQ DX, R8
		MOVQ R8, d-40(SP)
		MOVQ tileBlock_a(AX), CX
		MOVQ CX, a-8(SP)
		MOVQ tileBlock_b(AX), CX
		MOVQ CX, b-16(SP)
		MOVQ tileBlock_blocks(AX), CX
		MOVQ CX, blocks-24(SP)
		MOVQ tileBlock_sums(AX), CX
		MOVQ CX, sums-32(SP)
		MOVQ tileBlock_tail(AX), R9
	`, nil)
	if k.rounded {
		k.emitMask(w)
	}
	w.Label("block")
	k.emitStart(w)
	w.List(`
		sum:
		MOVQ b-16(SP), DI
		MOVQ a-8(SP), SI
		MOVQ tileBlock_steps(AX), CX
		TESTQ CX, CX
		JZ rest
		PCALIGN $64
		step:
	`, nil)
	k.emitStep(w, "SI", "R12")
	w.List(`
		ADDQ R15, SI
		ADDQ tileBlock_bk(AX), DI
		DECQ CX
		JNZ step
		rest:
		TESTQ R9, R9
		JZ store
		MOVQ $64, R11
	`, nil)
	k.emitStep(w, "R9", "R11")
	w.List(`
		ADDQ tileBlock_tn(AX), R9
		store:
	`, nil)
	k.emitStore(w)
	w.List(`
		ADDQ tileBlock_cn(AX), DX
		MOVQ tileBlock_an(AX), CX
		ADDQ CX, a-8(SP)
		MOVQ tileBlock_bn(AX), CX
		ADDQ CX, b-16(SP)
		DECQ blocks-24(SP)
		JNZ block
		ADDQ $size, AX
		DECQ calls-48(SP)
		JNZ call
	`, asm.Names{"size": 64 + 8*len(tileBlockFields)})
	w.Line("%s", releaseTiles())
	w.Return()
}

// emitStart clears the sums or, with keep, reads them: from D or, if C is bfloat16, from sums.
func (k tileBlock) emitStart(w *asm.Writer) {
	from := "R10"
	if k.rounded {
		from = "DI"
		w.List("MOVQ $size, BX\nMOVQ sums-32(SP), DI", asm.Names{"size": 64 * k.columns})
	} else {
		w.List("MOVQ tileBlock_cs(AX), BX\nMOVQ d-40(SP), R10\nADDQ DX, R10", nil)
	}
	w.List("CMPQ tileBlock_keep(AX), $0\nJNE keep", nil)
	for t := range k.columns {
		w.Line("%s", clearTile(t))
	}
	w.List("JMP sum\nkeep:", nil)
	for t := range k.columns {
		w.Line("%s", loadTile(t, from, "BX", 64*t))
	}
}

// emitStep adds the products of 32 elements of k, 16 pairs.
func (k tileBlock) emitStep(w *asm.Writer, a, stride string) {
	w.Line("%s", loadTile(k.a(), a, stride, 0))
	for t := range k.columns {
		w.Line("%s", loadTile(k.b(t), "DI", "R13", 64*t))
		w.Line("%s", multiplyTiles(k.b(t), k.a(), t))
	}
}

// emitStore writes the sums to C; if C is bfloat16, by way of sums, which stay in the first-level
// cache. The sums of products of tiles are never denormal, so VCVTNE2PS2BF16, which takes denormals
// as zero, rounds them as the other conversions do.
func (k tileBlock) emitStore(w *asm.Writer) {
	if !k.rounded {
		for t := range k.columns {
			w.Line("%s", storeTile(t, "DX", "BX", 64*t))
		}
		return
	}
	w.List("MOVQ $size, BX\nMOVQ sums-32(SP), DI", asm.Names{"size": 64 * k.columns})
	for t := range k.columns {
		w.Line("%s", storeTile(t, "DI", "BX", 64*t))
	}
	w.List(`
		MOVQ DX, SI
		MOVQ tileBlock_cs(AX), BX
		MOVQ tileBlock_rows(AX), CX
		row:
		VMOVUPS upper(DI), Z0
	`, asm.Names{"upper": 64 * (k.columns - 1)})
	w.Line("%s", roundTwo("DI", 0, 0))
	w.List(`
		VMOVDQU16 Z0, K1, (SI)
		ADDQ BX, SI
		ADDQ $size, DI
		DECQ CX
		JNZ row
		MOVQ tileBlock_sn(AX), CX
		ADDQ CX, sums-32(SP)
	`, asm.Names{"size": 64 * k.columns})
}

// emitMask sets K1 to the columns of a row of C.
func (k tileBlock) emitMask(w *asm.Writer) {
	w.List(`
		MOVQ $-1, R11
		MOVQ $64, CX
		SUBQ tileBlock_columns(AX), CX
		SHRQ CX, R11
		KMOVQ R11, K1
	`, nil)
}
