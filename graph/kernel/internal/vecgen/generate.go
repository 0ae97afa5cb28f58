package main

import "github.com/residua-go/residua/graph/kernel/internal/asm"

var isas = []asm.ISA{asm.AVX512, asm.AVX2, asm.NEON}

// generate returns the text of every file, by name, given the folder of the formulas.
func generate(folder string) (asm.Files, error) {
	formulas, err := readFormulas(folder)
	if err != nil {
		return nil, err
	}
	list, files := routines(formulas), asm.Files{"../cuda/formulas.cuh": deviceFunctions(formulas), "../cuda/formulas.cu": deviceKernels(formulas)}
	for _, s := range isas {
		files[s.File("vectors")] = assembly(s, list)
	}
	if files["formulas_generated.go"], err = loops(formulas); err != nil {
		return nil, err
	}
	var amd64, arm64, absent builder
	amd64.Header("vecgen")
	amd64.Line("package kernel\n\nimport \"math\"")
	arm64.Header("vecgen")
	arm64.Line("package kernel\n\nimport \"math\"")
	absent.Header("vecgen")
	absent.Line("//go:build !amd64 && !arm64\n\npackage kernel")
	absent.Line("\n// No other processor has paths but the portable one: the fast functions are never called.")
	var neon []string
	for _, r := range list {
		neon = append(neon, r.symbol(asm.NEON))
		r.declare(&amd64, instructionSets("amd64"))
		r.declare(&arm64, instructionSets("arm64"))
		r.declareAbsent(&absent)
	}
	for processor, b := range map[string]*builder{"amd64": &amd64, "arm64": &arm64, "other": &absent} {
		text, err := b.Source()
		if err != nil {
			return nil, err
		}
		files["vectors_generated_"+processor+".go"] = text
	}
	text, err := asm.Routines("vecgen", "neonVectors", neon)
	files["vectors_routines_arm64_test.go"] = text
	return files, err
}

// assembly returns the assembly file of one instruction set, with the given routines.
func assembly(s asm.ISA, list []*parsed) []byte {
	b := &builder{Writer: asm.Writer{ISA: s}}
	b.Header("vecgen")
	b.Line("#include \"textflag.h\"\n")
	defineScoreRow(b)
	var names []string
	for _, r := range list {
		names = append(names, r.constantNames...)
	}
	emitConstants(b, names)
	if !s.Masks && !s.NEON() {
		emitMasks(b)
	}
	for _, r := range list {
		f := &builder{Writer: asm.Writer{ISA: s}, parsed: r}
		f.emit()
		b.Write(f.Bytes())
	}
	return b.Bytes()
}
