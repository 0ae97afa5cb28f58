package main

import (
	"strconv"
	"strings"

	"github.com/residua-go/residua/graph/kernel/internal/asm"
)

// tileFields are the 8-byte fields of kernel.tile[float32], in order; alpha and beta
// follow, of 4 bytes each. A test of package kernel compares them with the struct.
var tileFields = []string{"a", "b", "c", "d", "k", "tiles", "as", "bs", "cs", "cols", "an", "bn", "cn"}

// routine is one function of the assembly.
type routine interface {
	signature() string
	emit(w *asm.Writer)
}

// family is the routines of one kind, and the beginning of the Go function, if any, that calls one
// of them by its choice.
type family struct {
	chooser  string
	routines []routine
	choices  []int
}

func newFamily[R routine](list []R, chooser string, choice func(R) int) family {
	f := family{chooser: chooser}
	for _, r := range list {
		f.routines = append(f.routines, r)
		if choice != nil {
			f.choices = append(f.choices, choice(r))
		}
	}
	return f
}

// names lists the names of the functions.
func (f family) names() []string {
	var list []string
	for _, r := range f.routines {
		name, _, _ := strings.Cut(r.signature(), "(")
		list = append(list, name)
	}
	return list
}

// families lists the routines of an instruction set.
func (s isa) families() []family {
	tiles := "%Tile runs the micro-kernel for tiles of rows x vecs vectors.\n" +
		"func %Tile(rows, vecs int, transposed bool, t *tile[float32]) {\nswitch rows<<2 | (vecs-1)<<1 | bit(transposed) {"
	if !s.Masks {
		tiles = "%Tile runs the micro-kernel for tiles of rows x vecs vectors.\n// partial says that the last vector of a row is not full.\n" +
			"func %Tile(rows, vecs int, transposed, partial bool, t *tile[float32]) {\nswitch rows<<3 | (vecs-1)<<2 | bit(transposed)<<1 | bit(partial) {"
	}
	return []family{
		newFamily(s.kernels(), tiles, microkernel.choice),
		newFamily([]square{{s}}, "", nil),
		newFamily([]partSquare{{s}}, "", nil),
		newFamily(s.dots(), "%Dots runs the micro-kernel for rows x cols sums of products.\n"+
			"func %Dots(rows, cols int, t *tile[float32]) {\nswitch rows<<3 | cols {", dot.choice),
		newFamily(s.combines(), "%Combine runs the micro-kernel for combinations of as many rows.\n"+
			"func %Combine(rows int, t *combineTile[float32]) {\nswitch rows {", func(k combine) int { return k.rows }),
		newFamily(s.axpys(), "", nil),
		newFamily(s.gemvs(), "", nil),
		newFamily(s.sumProducts(), "", nil),
	}
}

// file is an assembly file of an instruction set.
type file struct {
	isa
	name     string
	families []family
	prefix   string // of the functions' names, for those that choose one
}

// assemblyFiles lists the assembly files.
func assemblyFiles() []file {
	var list []file
	for _, s := range isas {
		list = append(list, s.files(s.families(), s.bfloat16(), s.weights())...)
	}
	tiles := []family{newFamily(isas[0].tileBlocks(), "", nil), newFamily([]tileRow{{isas[0]}}, "", nil), newFamily([]tileColumns{{isas[0]}}, "", nil),
		newFamily([]roundRows{{isas[0]}}, "", nil)}
	list = append(list, file{isas[0], "amx_amd64.s", tiles, "amx"})
	neon := isa{ISA: asm.NEON}
	weights := newFamily([]neonWeights{{16, false}, {16, true}, {8, false}, {8, true}}, "", nil)
	return append(list, neon.files(neonFamilies(), neonBFloat16(), []family{weights})...)
}

// files are the three files of an instruction set.
func (s isa) files(microkernels, bfloat16, weights []family) []file {
	return []file{
		{s, s.File("microkernels"), microkernels, s.Name},
		{s, s.File("bfloat16"), bfloat16, s.Name},
		{s, s.File("weights"), weights, s.Name},
	}
}

// generate returns the text of every file, by name.
func generate() (asm.Files, error) {
	files := asm.Files{}
	declarations := map[string]*asm.Writer{"amd64": {}, "arm64": {}}
	for _, w := range declarations {
		w.Header("asmgen")
		w.Line("package kernel")
	}
	var neon []string
	for _, f := range assemblyFiles() {
		files[f.name] = assembly(f.isa, f.families)
		for _, family := range f.families {
			family.declare(declarations[f.Processor], f.prefix)
			if f.NEON() {
				neon = append(neon, family.names()...)
			}
		}
	}
	text, err := asm.Routines("asmgen", "neonMicrokernels", neon)
	if err != nil {
		return nil, err
	}
	files["microkernels_routines_arm64_test.go"] = text
	for processor, w := range declarations {
		text, err := w.Source()
		if err != nil {
			return nil, err
		}
		files["microkernels_generated_"+processor+".go"] = text
	}
	return files, nil
}

// assembly is an assembly file of one instruction set.
func assembly(s isa, families []family) []byte {
	w := &asm.Writer{ISA: s.ISA}
	w.Header("asmgen")
	w.Line("#include \"textflag.h\"\n")
	define(w, "tile", tileFields)
	w.Line("#define tile_alpha %d", 8*len(tileFields))
	w.Line("#define tile_beta %d", 8*len(tileFields)+4)
	define(w, "combine", combineFields)
	define(w, "axpy", axpyFields)
	define(w, "gemv", gemvFields)
	define(w, "sumProducts", sumProductsFields)
	define(w, "weights", weightsFields)
	for i, field := range tileBlockFields {
		w.Line("#define tileBlock_%s %d", field, 64+8*i)
	}
	if !s.Masks && !s.NEON() {
		var lanes []string
		for i := range s.Lanes {
			lanes = append(lanes, strconv.Itoa(i))
		}
		w.Table("lanes", 4, lanes)
	}
	for _, f := range families {
		for _, r := range f.routines {
			r.emit(w)
		}
	}
	return w.Bytes()
}

// define writes names for the offsets of a tile's fields.
func define(w *asm.Writer, tile string, fields []string) {
	for i, field := range fields {
		w.Line("#define %s_%s %d", tile, field, 8*i)
	}
}

// declare writes a family's Go declarations, and the function that calls one of its routines.
func (f family) declare(w *asm.Writer, isa string) {
	if f.chooser != "" {
		w.Line("%s", "\n// "+strings.ReplaceAll(f.chooser, "%", isa))
		for i, name := range f.names() {
			w.Line("case %d:\n%s(t)", f.choices[i], name)
		}
		w.Line("}\n}")
	}
	for _, r := range f.routines {
		w.Declare(r.signature())
	}
}
