package main

import (
	"strconv"

	"github.com/residua-go/residua/graph/kernel/internal/asm"
)

// tileFields are the 8-byte fields of kernel.tile[float32], in order; alpha and beta
// follow, of 4 bytes each. A test of package kernel compares them with the struct.
var tileFields = []string{"a", "b", "c", "d", "k", "tiles", "as", "bs", "cs", "cols"}

// generate returns the text of every file, by name.
func generate() (asm.Files, error) {
	files := asm.Files{}
	var declarations asm.Writer
	declarations.Header("asmgen")
	declarations.Line("package kernel")
	for _, s := range isas {
		files["microkernels_"+s.Name+"_amd64.s"] = assembly(s)
		declare(&declarations, s)
	}
	text, err := declarations.Source()
	files["microkernels_generated_amd64.go"] = text
	return files, err
}

// assembly is the assembly file of one instruction set.
func assembly(s isa) []byte {
	w := &asm.Writer{ISA: s.ISA}
	w.Header("asmgen")
	w.Line("#include \"textflag.h\"\n")
	offset := 0
	for _, field := range tileFields {
		w.Line("#define tile_%s %d", field, offset)
		offset += 8
	}
	w.Line("#define tile_alpha %d", offset)
	w.Line("#define tile_beta %d", offset+4)
	for i, field := range combineFields {
		w.Line("#define combine_%s %d", field, 8*i)
	}
	for i, field := range axpyFields {
		w.Line("#define axpy_%s %d", field, 8*i)
	}
	for i, field := range gemvFields {
		w.Line("#define gemv_%s %d", field, 8*i)
	}
	for i, field := range sumProductsFields {
		w.Line("#define sumProducts_%s %d", field, 8*i)
	}
	if !s.Masks {
		var lanes []string
		for i := range s.Lanes {
			lanes = append(lanes, strconv.Itoa(i))
		}
		w.Table("lanes", 4, lanes)
	}
	for _, k := range s.kernels() {
		k.emit(w)
	}
	square{s}.emit(w)
	for _, d := range s.dots() {
		d.emit(w)
	}
	for _, k := range s.combines() {
		k.emit(w)
	}
	for _, k := range s.axpys() {
		k.emit(w)
	}
	for _, k := range s.gemvs() {
		k.emit(w)
	}
	for _, k := range s.sumProducts() {
		k.emit(w)
	}
	return w.Bytes()
}

// declare writes the Go declarations of one instruction set, and the function that
// picks the micro-kernel.
func declare(w *asm.Writer, s isa) {
	w.Line("\n// %sTile runs the micro-kernel for tiles of rows x vecs vectors.", s.Name)
	if s.Masks {
		w.Line("func %sTile(rows, vecs int, transposed bool, t *tile[float32]) {", s.Name)
		w.Line("switch rows<<2 | (vecs-1)<<1 | bit(transposed) {")
	} else {
		w.Line("// partial says that the last vector of a row is not full.")
		w.Line("func %sTile(rows, vecs int, transposed, partial bool, t *tile[float32]) {", s.Name)
		w.Line("switch rows<<3 | (vecs-1)<<2 | bit(transposed)<<1 | bit(partial) {")
	}
	for _, k := range s.kernels() {
		w.Line("case %d:\n%s(t)", k.choice(), k.name())
	}
	w.Line("}\n}")
	for _, k := range s.kernels() {
		w.Declare(k.name() + "(t *tile[float32])")
	}
	w.Declare(square{s}.signature())
	declareDots(w, s)
	declareCombines(w, s)
	for _, k := range s.axpys() {
		w.Declare(k.name() + "(t *axpyTile[float32])")
	}
	for _, k := range s.gemvs() {
		w.Declare(k.name() + "(t *gemvTile[float32])")
	}
	for _, k := range s.sumProducts() {
		w.Declare(k.name() + "(t *sumProductsTile[float32])")
	}
}

// declareDots writes the declarations of dot, and the function that picks one.
func declareDots(w *asm.Writer, s isa) {
	w.Line("\n// %sDots runs the micro-kernel for rows x cols sums of products.", s.Name)
	w.Line("func %sDots(rows, cols int, t *tile[float32]) {", s.Name)
	w.Line("switch rows<<3 | cols {")
	for _, d := range s.dots() {
		w.Line("case %d:\n%s(t)", d.choice(), d.name())
	}
	w.Line("}\n}")
	for _, d := range s.dots() {
		w.Declare(d.name() + "(t *tile[float32])")
	}
}

// declareCombines writes the declarations of combine, and the function that picks one.
func declareCombines(w *asm.Writer, s isa) {
	w.Line("\n// %sCombine runs the micro-kernel for combinations of as many rows.", s.Name)
	w.Line("func %sCombine(rows int, t *combineTile[float32]) {", s.Name)
	w.Line("switch rows {")
	for _, k := range s.combines() {
		w.Line("case %d:\n%s(t)", k.rows, k.name())
	}
	w.Line("}\n}")
	for _, k := range s.combines() {
		w.Declare(k.name() + "(t *combineTile[float32])")
	}
}
