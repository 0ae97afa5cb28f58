package main

import "github.com/residua-go/residua/graph/kernel/internal/asm"

var isas = []asm.ISA{asm.AVX512, asm.AVX2}

// generate returns the text of every file, by name.
func generate() (asm.Files, error) {
	files := asm.Files{}
	for _, s := range isas {
		files["vectors_"+s.Name+"_amd64.s"] = assembly(s)
	}
	var fast, absent builder
	fast.Header("vecgen")
	fast.Line("package kernel")
	absent.Header("vecgen")
	absent.Line("//go:build !amd64\n\npackage kernel")
	absent.Line("\n// No other processor has paths but the portable one: the fast functions are never called.")
	for _, r := range routines() {
		r.declare(&fast)
		r.declareAbsent(&absent)
	}
	for name, b := range map[string]*builder{"vectors_generated_amd64.go": &fast, "vectors_generated_other.go": &absent} {
		text, err := b.Source()
		if err != nil {
			return nil, err
		}
		files[name] = text
	}
	return files, nil
}

// assembly returns the assembly file of one instruction set.
func assembly(s asm.ISA) []byte {
	list := routines()
	b := &builder{Writer: asm.Writer{ISA: s}}
	b.Header("vecgen")
	b.Line("#include \"textflag.h\"\n")
	defineScoreRow(b)
	var names []string
	for _, r := range list {
		names = append(names, r.constantNames...)
	}
	emitConstants(b, names)
	if !s.Masks {
		emitMasks(b)
	}
	for _, r := range list {
		f := &builder{Writer: asm.Writer{ISA: s}, parsed: r}
		f.emit()
		b.Write(f.Bytes())
	}
	return b.Bytes()
}
