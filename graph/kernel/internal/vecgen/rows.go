package main

import (
	"fmt"
	"slices"
	"strings"
)

// overRows returns the form of a routine that does its work for a list of rows, each with its own
// fields, among them all results. It stores whole vectors, since a load soon after would have to
// wait until a masked store has reached the cache: what the last vector has beyond the row's end is
// undefined, or with clears zero, as is what follows, rowsClear elements after the end.
func overRows(r routine, fields string, clears bool) routine {
	r.signature = strings.Replace(r.signature, "(", "Rows(", 1)
	r.doc = "for each row " + r.doc + " It may overwrite the elements of the last vector beyond the end."
	if clears {
		r.doc = strings.TrimSuffix(r.doc, ".") + fmt.Sprintf(", and clears %d elements after the end.", rowsClear)
	}
	r.clears = clears
	r.work = strings.ReplaceAll(r.work, "store ", "storeWhole ")
	r.rowFields = fields
	return r
}

// rows tells whether the routine handles a list of rows.
func (r *parsed) rows() bool { return r.rowFields != "" }

// ofRow tells whether a number or result is a field of each row.
func (r *parsed) ofRow(v variable) bool {
	return r.rows() && (slices.Contains(r.results, v) || slices.Contains(strings.Fields(r.rowFields), v.name))
}

// arguments returns the numbers and results that are no fields of rows.
func (r *parsed) arguments(of []variable) []variable {
	return slices.DeleteFunc(slices.Clone(of), r.ofRow)
}

// emitRows handles each row of the list: R12 points to it, R13 counts those that are left.
func (b *builder) emitRows() {
	if b.NEON() {
		b.neonRows()
		return
	}
	b.Op("MOVQ", b.argument("rows"), "R12")
	b.Op("MOVQ", b.argument("n"), "R13")
	b.Label("row")
	b.Op("MOVQ", "scoreRow_at(R12)", "AX")
	for i, s := range b.slices {
		b.Op("MOVQ", b.argument(s.name), pointers[i])
		b.Op("LEAQ", fmt.Sprintf("(%s)(AX*%d)", pointers[i], s.kind.size), pointers[i])
	}
	b.Op("MOVQ", "scoreRow_n(R12)", "CX")
	for _, v := range b.numbers {
		if b.ofRow(v) {
			b.broadcast(v)
		}
	}
	b.emitRow()
	if b.clears {
		b.emitClear()
	}
	b.Op("ADDQ", "$scoreRow_size", "R12")
	b.Op("DECQ", "R13")
	b.Op("JNZ", "row")
}

// rowsClear is how many elements after its end a row is cleared, kernel.attentionTileRows.
const rowsClear = 16

// emitClear clears what follows a row of each slice.
func (b *builder) emitClear() {
	b.Op("MOVQ", "scoreRow_n(R12)", "CX")
	b.Op("VXORPS", "X0", "X0", "X0")
	for i := range b.slices {
		for at := 0; at < rowsClear; at += b.Lanes {
			b.Op("VMOVUPS", b.Vector(0), fmt.Sprintf("%d(%s)(CX*4)", 4*at, pointers[i]))
		}
	}
}

// scoreRow lists the fields of a scoreRow[float32] with their sizes.
var scoreRow = []variable{
	{"at", kind{"int", 8}}, {"n", kind{"int", 8}}, {"far", single}, {"shift", single}, {"delta", single}, {"largest", single}, {"sum", double},
}

// defineScoreRow writes names for the offsets of a scoreRow's fields, and for its size.
func defineScoreRow(b *builder) {
	offset := 0
	for _, field := range scoreRow {
		b.Line("#define scoreRow_%s %d", field.name, offset)
		offset += field.kind.size
	}
	b.Line("#define scoreRow_size %d", offset)
}
