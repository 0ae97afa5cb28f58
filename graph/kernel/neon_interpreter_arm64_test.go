package kernel

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// neonProgram interprets the assembly for NEON: general registers and flags, vector registers of
// four words, and the state that flushes denormals. It reads and writes the memory that pointers
// point to. Of an instruction that is written as a word it reads the comment, so that a comparison
// with a processor also checks the word.
type neonProgram struct {
	routines map[string]*neonRoutine
	offsets  map[string]int    // #define
	tables   map[string][]byte // read-only data

	numbers  map[string]int         // of registers
	operands map[string]neonOperand // that lie in memory

	r         [32]uint64
	v         [32][4]uint32
	result    int64 // what conditions look at
	frame     []byte
	flushes   bool
	underflow bool
}

// neonOperand is an address: an offset from a register, or with base -1 in the frame.
type neonOperand struct{ offset, base int }

type neonRoutine struct {
	lines  [][]string // instructions with their operands
	labels map[string]int
}

var (
	neonWord   = regexp.MustCompile(`WORD \$0x[0-9a-f]+ // `)
	neonMemory = regexp.MustCompile(`^([\w+-]*)\((\w+)\)$`)
)

// readNEON reads the assembly for NEON in this folder.
func readNEON(t *testing.T) *neonProgram {
	p := &neonProgram{routines: map[string]*neonRoutine{}, offsets: map[string]int{}, tables: map[string][]byte{}, numbers: map[string]int{}, operands: map[string]neonOperand{}}
	files, err := filepath.Glob("*_neon_arm64.s")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		p.read(string(text))
	}
	return p
}

func (p *neonProgram) read(text string) {
	var routine *neonRoutine
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(neonWord.ReplaceAllString(strings.TrimSpace(line), ""), " //")
		name, rest, _ := strings.Cut(line, " ")
		switch label, isLabel := strings.CutSuffix(line, ":"); {
		case line == "" || strings.HasPrefix(line, "//") || name == "#include" || name == "GLOBL" || name == "PCALIGN":
		case name == "#define":
			symbol, value, _ := strings.Cut(rest, " ")
			p.offsets[symbol], _ = strconv.Atoi(value)
		case name == "DATA":
			symbol, rest, _ := strings.Cut(rest, "<>")
			_, value, _ := strings.Cut(rest, "$")
			bits, _ := strconv.ParseUint(value, 0, 64)
			if p.tables[symbol] = binary.LittleEndian.AppendUint32(p.tables[symbol], uint32(bits)); strings.Contains(rest, "/8") {
				p.tables[symbol] = binary.LittleEndian.AppendUint32(p.tables[symbol], uint32(bits>>32))
			}
		case name == "TEXT":
			symbol, _, _ := strings.Cut(strings.TrimPrefix(rest, "·"), "(")
			routine = &neonRoutine{labels: map[string]int{}}
			p.routines[symbol] = routine
		case isLabel:
			routine.labels[label] = len(routine.lines)
		default:
			operands := strings.Split(strings.NewReplacer("(FP)", "(FP)", "(F", "F", " ", "").Replace(rest), ",")
			routine.lines = append(routine.lines, append([]string{name}, operands...))
		}
	}
}

// run interprets a routine with its arguments, which it overwrites with results.
func (p *neonProgram) run(name string, frame []byte) {
	p.frame, p.flushes = frame, false
	routine := p.routines[name]
	for i := 0; i < len(routine.lines); {
		line := routine.lines[i]
		if line[0] == "RET" {
			return
		}
		i++
		if p.jumps(line) {
			i = routine.labels[line[len(line)-1]]
		}
	}
}

// jumps executes an instruction, and tells whether it is a jump that is taken.
func (p *neonProgram) jumps(x []string) bool {
	switch x[0] {
	case "B":
		return true
	case "BEQ", "BNE", "BLT", "BGE":
		return p.condition(x[0][1:])
	case "CBZ":
		return p.general(x[1]) == 0
	case "CBNZ":
		return p.general(x[1]) != 0
	case "TBNZ":
		return p.general(x[2])>>p.general(x[1])&1 == 1
	}
	if name, post := strings.CutSuffix(x[0], ".P"); p.moves(name, post, x[1:]) || p.calculates(x[0], x[1:]) {
		return false
	}
	p.works(x[0], x[1:])
	return false
}

func (p *neonProgram) condition(name string) bool {
	switch name {
	case "EQ":
		return p.result == 0
	case "NE":
		return p.result != 0
	case "LT":
		return p.result < 0
	}
	return p.result >= 0
}

// number returns the number of a register.
func (p *neonProgram) number(name string) int {
	if n, ok := p.numbers[name]; ok {
		return n
	}
	n, err := strconv.Atoi(strings.Trim(strings.SplitN(name, ".", 2)[0], "[VFR)"))
	if err != nil {
		panic("no register: " + name)
	}
	p.numbers[name] = n
	return n
}

// general returns an operand that is a general register, perhaps shifted, or a constant.
func (p *neonProgram) general(name string) uint64 {
	if value, ok := strings.CutPrefix(name, "$"); ok {
		if table, ok := strings.CutSuffix(value, "<>(SB)"); ok {
			return uint64(uintptr(unsafe.Pointer(&p.tables[table][0])))
		}
		if offset, ok := p.offsets[value]; ok {
			return uint64(offset)
		}
		n, err := strconv.ParseUint(value, 0, 64)
		if err != nil {
			panic("no constant: " + name)
		}
		return n
	}
	if name == "ZR" {
		return 0
	}
	register, shift, _ := strings.Cut(name, "<<")
	n, _ := strconv.Atoi(shift)
	return p.r[p.number(register)] << n
}

// memory returns the address of an operand, its offset, and its base register.
func (p *neonProgram) memory(operand string) (at uintptr, offset, base int) {
	o, ok := p.operands[operand]
	if !ok {
		o = p.operand(operand)
		p.operands[operand] = o
	}
	if o.base < 0 {
		return uintptr(unsafe.Pointer(&p.frame[o.offset])), o.offset, 0
	}
	return uintptr(p.r[o.base]) + uintptr(o.offset), o.offset, o.base
}

func (p *neonProgram) operand(text string) neonOperand {
	m := neonMemory.FindStringSubmatch(text)
	if m == nil {
		panic("no address: " + text)
	}
	if _, offset, ok := strings.Cut(m[1], "+"); ok {
		n, _ := strconv.Atoi(offset)
		return neonOperand{n, -1}
	}
	offset, ok := p.offsets[m[1]]
	if !ok && m[1] != "" {
		offset, _ = strconv.Atoi(m[1])
	}
	return neonOperand{offset, p.number(m[2])}
}

// word returns word i at an address.
func word(at uintptr, i int) *uint32 {
	return (*uint32)(unsafe.Add(unsafe.Pointer(nil), at+uintptr(4*i)))
}

// neonWords are the words that an instruction loads or stores in each register.
var neonWords = map[string]int{"FMOVS": 1, "FMOVD": 2, "FMOVQ": 4, "FLDPQ": 4, "FSTPQ": 4}

// moves executes an instruction that loads, stores or copies registers of vectors, or loads and
// stores a general register.
func (p *neonProgram) moves(name string, post bool, x []string) bool {
	words, pair := neonWords[name], name == "FLDPQ" || name == "FSTPQ"
	switch {
	case words == 0:
		return p.movesLanes(name, x)
	case strings.HasPrefix(x[0], "F") && strings.HasPrefix(x[1], "F") && !pair:
		var to [4]uint32
		copy(to[:words], p.v[p.number(x[0])][:])
		p.v[p.number(x[1])] = to
		return true
	}
	load := !strings.HasPrefix(x[0], "F")
	operand, registers := x[len(x)-1], x[:len(x)-1]
	if load {
		operand, registers = x[0], x[1:]
	}
	at, offset, base := p.memory(operand)
	if post {
		at -= uintptr(offset)
		p.r[base] += uint64(offset)
	}
	for n, register := range registers {
		v := &p.v[p.number(register)]
		if load {
			*v = [4]uint32{}
		}
		for i := range words {
			if w := word(at, 4*n+i); load {
				v[i] = *w
			} else {
				*w = v[i]
			}
		}
	}
	return true
}

// movesLanes executes the instructions that load or store a lane, and those of general registers.
func (p *neonProgram) movesLanes(name string, x []string) bool {
	switch name {
	case "VLD1", "VST1", "VLD1R":
		from, to := x[0], x[1]
		if name == "VST1" {
			from, to = to, from
		}
		base, step, post := strings.Cut(from, ")(")
		at, _, register := p.memory(strings.TrimSuffix(base, ")") + ")")
		if post {
			p.r[register] += p.general(strings.TrimSuffix(step, ")"))
		}
		if name == "VLD1R" {
			w := *word(at, 0)
			p.v[p.number(to)] = [4]uint32{w, w, w, w}
			return true
		}
		if strings.HasPrefix(to, "[") { // whole registers, which follow one another in memory
			for i, register := range x[1:] {
				for lane := range 4 {
					p.v[p.number(register)][lane] = *word(at, 4*i+lane)
				}
			}
			return true
		}
		if n, lane := element(to); name == "VLD1" {
			p.v[n][lane] = *word(at, 0)
		} else {
			*word(at, 0) = p.v[n][lane]
		}
	case "MOVD", "MOVWU":
		switch {
		case strings.HasSuffix(x[0], ")") && !strings.HasPrefix(x[0], "$"):
			at, _, _ := p.memory(x[0])
			p.r[p.number(x[1])] = uint64(*word(at, 0))
			if name == "MOVD" {
				p.r[p.number(x[1])] |= uint64(*word(at, 1)) << 32
			}
		case strings.HasSuffix(x[1], ")"):
			at, _, _ := p.memory(x[1])
			*word(at, 0), *word(at, 1) = uint32(p.general(x[0])), uint32(p.general(x[0])>>32)
		default:
			p.r[p.number(x[1])] = p.general(x[0])
		}
	default:
		return false
	}
	return true
}

// element returns the numbers of a register and of an element of it, as in V12.S[3].
func element(name string) (register, i int) {
	first, last, ok := strings.Cut(name, ".")
	if !ok || len(last) != 4 {
		panic("no element: " + name)
	}
	register, _ = strconv.Atoi(first[1:])
	return register, int(last[2] - '0')
}

// calculates executes the instructions of general registers.
func (p *neonProgram) calculates(name string, x []string) bool {
	second := x[len(x)-1]
	if len(x) == 3 {
		second = x[1]
	}
	set := func(value uint64) { p.r[p.number(x[len(x)-1])] = value }
	switch name {
	case "ADD", "ADDS":
		set(p.general(second) + p.general(x[0]))
	case "SUB", "SUBS":
		set(p.general(second) - p.general(x[0]))
	case "LSL":
		set(p.general(second) << p.general(x[0]))
	case "ORR":
		set(p.general(second) | p.general(x[0]))
	case "CMP":
		p.result = int64(p.general(x[1]) - p.general(x[0]))
	case "CSET":
		set(uint64(choose(p.condition(x[0]), 1, 0)))
	case "CSEL":
		set(p.general(x[1+choose(p.condition(x[0]), 0, 1)]))
	case "MRS":
		set(uint64(choose(x[0] == "FPSR" && p.underflow, 8, 0)))
	case "MSR":
		if x[1] == "FPSR" {
			p.underflow = false
		} else {
			p.flushes = p.general(x[0])>>24&1 == 1
		}
	default:
		return false
	}
	if name == "ADDS" || name == "SUBS" {
		p.result = int64(p.general(x[len(x)-1]))
	}
	return true
}

// works executes an instruction of vectors. Its operands m, n and d are named as in Arm's manual.
func (p *neonProgram) works(name string, x []string) {
	to := &p.v[p.number(x[len(x)-1])]
	switch name {
	case "FMLALANE", "BFMLALB", "BFMLALT":
		p.multipliesElement(name, x, to)
		return
	case "VDUP":
		p.duplicates(x, to)
		return
	case "VMOV":
		if x[0] == "ZR" {
			_, lane := element(x[1])
			to[lane] = 0
		} else {
			*to = p.v[p.number(x[0])]
		}
		return
	case "VSHL", "VUSHR":
		from, shift := p.v[p.number(x[1])], p.general(x[0])
		switch {
		case strings.HasSuffix(x[2], "D2"):
			a, b := doubles(from)
			*to = fromDoubles(a<<shift, b<<shift)
		case name == "VSHL":
			*to = lanes(func(i int) uint32 { return from[i] << shift })
		default:
			*to = lanes(func(i int) uint32 { return from[i] >> shift })
		}
		return
	}
	m := p.v[p.number(x[0])]
	n := m
	if len(x) == 3 {
		n = p.v[p.number(x[1])]
	}
	if value, ok := permuted(name, x[0][strings.IndexByte(x[0]+".", '.'):], m, n); ok {
		*to = value
		return
	}
	if strings.HasSuffix(x[0], ".D2") {
		m0, m1 := doubles(m)
		n0, n1 := doubles(n)
		d0, d1 := doubles(*to)
		*to = fromDoubles(double(name, m0, n0, d0), double(name, m1, n1, d1))
		return
	}
	d := *to
	*to = lanes(func(i int) uint32 { return single(name, m[i], n[i], d[i]) })
}

func lanes(f func(i int) uint32) [4]uint32 { return [4]uint32{f(0), f(1), f(2), f(3)} }

func doubles(v [4]uint32) (a, b uint64) {
	return uint64(v[0]) | uint64(v[1])<<32, uint64(v[2]) | uint64(v[3])<<32
}

func fromDoubles(a, b uint64) [4]uint32 {
	return [4]uint32{uint32(a), uint32(a >> 32), uint32(b), uint32(b >> 32)}
}

func (p *neonProgram) duplicates(x []string, to *[4]uint32) {
	if strings.HasPrefix(x[0], "R") {
		w := uint32(p.general(x[0]))
		*to = [4]uint32{w, w, w, w}
		return
	}
	from, _ := element(x[0])
	if strings.HasSuffix(x[1], "D2") {
		a, _ := doubles(p.v[from])
		*to = fromDoubles(a, a)
		return
	}
	w := p.v[from][0]
	*to = [4]uint32{w, w, w, w}
}

// multipliesElement adds products by an element of the first operand.
func (p *neonProgram) multipliesElement(name string, x []string, to *[4]uint32) {
	from, i := element(x[0])
	by := p.v[p.number(x[1])]
	half := func(w uint32, odd bool) uint32 { return uint32(choose(odd, int(w&0xffff0000), int(w<<16))) }
	a := p.v[from][i%4]
	if name != "FMLALANE" {
		a = half(p.v[from][i/2], i%2 == 1)
	}
	d := *to
	*to = lanes(func(l int) uint32 {
		b := by[l]
		if name != "FMLALANE" {
			b = half(b, name == "BFMLALT")
		}
		return math.Float32bits(p.fused(math.Float32frombits(a), math.Float32frombits(b), math.Float32frombits(d[l])))
	})
}

// fused computes x*y + z, where denormals are flushed so that a result counts as one before
// rounding.
func (p *neonProgram) fused(x, y, z float32) float32 {
	if !p.flushes {
		return fma(x, y, z)
	}
	sum := fmaToOdd(flushed(x), flushed(y), flushed(z))
	if sum != 0 && math.Abs(sum) < 0x1p-126 {
		p.underflow = true
		return float32(math.Copysign(0, sum))
	}
	return float32(sum)
}

// permuted executes instructions that move lanes or widen them; arrangement is the first operand's.
func permuted(name, arrangement string, m, n [4]uint32) ([4]uint32, bool) {
	mh, nh := halves(m), halves(n)
	widened := func(i int) uint64 { return math.Float64bits(float64(math.Float32frombits(m[i]))) }
	switch {
	case name == "VTRN1" && arrangement == ".S4":
		return [4]uint32{n[0], m[0], n[2], m[2]}, true
	case name == "VTRN2" && arrangement == ".S4":
		return [4]uint32{n[1], m[1], n[3], m[3]}, true
	case name == "VTRN1":
		return [4]uint32{n[0], n[1], m[0], m[1]}, true
	case name == "VTRN2":
		return [4]uint32{n[2], n[3], m[2], m[3]}, true
	case name == "VZIP1":
		return lanes(func(i int) uint32 { return uint32(nh[i]) | uint32(mh[i])<<16 }), true
	case name == "VZIP2":
		return lanes(func(i int) uint32 { return uint32(nh[4+i]) | uint32(mh[4+i])<<16 }), true
	case name == "VUZP2":
		return [4]uint32{n[0]>>16 | n[1]&0xffff0000, n[2]>>16 | n[3]&0xffff0000, m[0]>>16 | m[1]&0xffff0000, m[2]>>16 | m[3]&0xffff0000}, true
	case name == "SHLL" || name == "SHLL2":
		return lanes(func(i int) uint32 { return uint32(mh[i+choose(name == "SHLL2", 4, 0)]) << 16 }), true
	case name == "SXTL" || name == "SXTL2":
		return lanes(func(i int) uint32 { return uint32(int16(mh[i+choose(name == "SXTL2", 4, 0)])) }), true
	case name == "SXTLB" || name == "SXTLB2":
		first := choose(name == "SXTLB2", 4, 0)
		return lanes(func(i int) uint32 {
			h := mh[first+i]
			return uint32(uint16(int8(h))) | uint32(uint16(int8(h>>8)))<<16
		}), true
	case name == "FCVTL":
		return fromDoubles(widened(0), widened(1)), true
	case name == "FCVTL2":
		return fromDoubles(widened(2), widened(3)), true
	case name == "FCVTN":
		a, b := doubles(m)
		return [4]uint32{math.Float32bits(float32(math.Float64frombits(a))), math.Float32bits(float32(math.Float64frombits(b)))}, true
	case name == "FADDPD":
		a, b := doubles(m)
		return fromDoubles(math.Float64bits(math.Float64frombits(a)+math.Float64frombits(b)), 0), true
	case name == "FMAXV":
		largest := max(math.Float32frombits(m[0]), math.Float32frombits(m[1]), math.Float32frombits(m[2]), math.Float32frombits(m[3]))
		return [4]uint32{math.Float32bits(largest)}, true
	case name == "FADDP":
		add := func(v [4]uint32, i int) uint32 { return single("FADD", v[i], v[i+1], 0) }
		return [4]uint32{add(n, 0), add(n, 2), add(m, 0), add(m, 2)}, true
	}
	return n, false
}

func halves(v [4]uint32) (h [8]uint16) {
	for i := range h {
		h[i] = uint16(v[i/2] >> (16 * (i % 2)))
	}
	return h
}

// single and double compute one lane.
func single(name string, m, n, d uint32) uint32 {
	a, b, c := math.Float32frombits(m), math.Float32frombits(n), math.Float32frombits(d)
	var value float32
	switch name {
	case "FADD":
		value = b + a
	case "FSUB":
		value = b - a
	case "FMUL":
		value = b * a
	case "FDIV":
		value = b / a
	case "FSQRT":
		value = float32(math.Sqrt(float64(a))) // rounded twice, to the same number (Figueroa 1995)
	case "SCVTF":
		value = float32(int32(m))
	case "VFMLA":
		value = fma(b, a, c)
	case "VFMLS":
		value = fma(-b, a, c)
	case "FNEG":
		return m ^ 1<<31
	case "FCMGT":
		return uint32(-choose(b > a, 1, 0))
	case "FCMEQ":
		return uint32(-choose(b == a, 1, 0))
	case "VADD":
		return m + n
	default:
		return uint32(bitwise(name, uint64(m), uint64(n), uint64(d)))
	}
	return math.Float32bits(value)
}

func double(name string, m, n, d uint64) uint64 {
	a, b, c := math.Float64frombits(m), math.Float64frombits(n), math.Float64frombits(d)
	var value float64
	switch name {
	case "FADD":
		value = b + a
	case "FSUB":
		value = b - a
	case "FMUL":
		value = b * a
	case "FDIV":
		value = b / a
	case "VFMLA":
		value = math.FMA(b, a, c)
	case "VFMLS":
		value = math.FMA(-b, a, c)
	case "FNEG":
		return m ^ 1<<63
	case "FCMGT":
		return uint64(-choose(b > a, 1, 0))
	case "VADD":
		return m + n
	default:
		panic("no instruction: " + name)
	}
	return math.Float64bits(value)
}

func bitwise(name string, m, n, d uint64) uint64 {
	switch name {
	case "VAND":
		return n & m
	case "VORR":
		return n | m
	case "VEOR":
		return n ^ m
	case "VBIT":
		return d&^m | n&m
	case "VBIF":
		return d&m | n&^m
	case "VBSL":
		return n&d | m&^d
	}
	panic(fmt.Sprintf("no instruction: %s", name))
}
