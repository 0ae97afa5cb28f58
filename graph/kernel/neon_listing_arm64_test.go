package kernel

import (
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// Words of each slice that a test of a routine passes; the last ones no routine may reach.
const (
	neonMemoryWords = 4*16*neonUnpackedRows + neonCanaryWords
	neonCanaryWords = 64
	neonCanary      = 0x5ca1ab1e
)

// neonUnpackedRows bounds the rows of weights that tests unpack, of which 64 share their scales.
const neonUnpackedRows = 70

// neonCall is one call of a routine, with memory of its own.
type neonCall struct {
	arguments []reflect.Value
	buffers   [][]uint32
	tiles     *tile[float32]
}

// memory returns a pointer of a type to a buffer that both calls get with the same content.
func (c *neonCall) memory(r *rand.Rand, like reflect.Type, fill func(r *rand.Rand) uint32) reflect.Value {
	buffer := make([]uint32, neonMemoryWords)
	usable := neonMemoryWords - neonCanaryWords
	for i := range usable {
		buffer[i] = fill(r)
	}
	for i := usable; i < neonMemoryWords; i++ {
		buffer[i] = neonCanary
	}
	c.buffers = append(c.buffers, buffer)
	return reflect.NewAt(like.Elem(), unsafe.Pointer(&buffer[0]))
}

// anyFloat32 draws the bits of a float32: mostly of a usual size, sometimes of any.
func anyFloat32(r *rand.Rand) uint32 {
	if r.IntN(20) == 0 {
		return r.Uint32()
	}
	return ordinary(r)
}

// ordinary draws the bits of a number from -4 to 4.
func ordinary(r *rand.Rand) uint32 { return math.Float32bits((r.Float32() - 0.5) * 8) }

// anyPair draws two bfloat16, whose products are now and then near the smallest numbers.
func anyPair(r *rand.Rand) uint32 {
	pair := ordinary(r)&0xffff0000 | ordinary(r)>>16
	if r.IntN(40) == 0 {
		pair = pair&^0x7f807f80 | 0x20002000
	}
	return pair
}

// TestNEONEqualsItsListing runs every routine and the interpreter of its assembly on the same
// operands, of many lengths, and compares all memory and results to the bit.
func TestNEONEqualsItsListing(t *testing.T) {
	if machinePath != neon {
		t.Skip("GODEBUG switches NEON off")
	}
	program := readNEON(t)
	all := maps.Clone(neonVectors)
	maps.Copy(all, neonMicrokernels)
	require.Equal(t, len(all), len(program.routines))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if strings.Contains(name, "Wide") && machinePairs != neonWide {
			continue // the processor lacks its instructions
		}
		for seed := range uint64(3) {
			call := func() *neonCall {
				return newNEONCall(rand.New(rand.NewPCG(seed, uint64(len(name)))), name, reflect.TypeOf(all[name]))
			}
			real, interpreted := call(), call()
			results := reflect.ValueOf(all[name]).Call(real.arguments)
			frame, places := neonFrame(reflect.TypeOf(all[name]), interpreted.arguments)
			program.run(name, frame)
			for i, want := range real.buffers {
				if len(want) == neonMemoryWords { // no row of scores
					require.Equal(t, slices.Repeat([]uint32{neonCanary}, neonCanaryWords), want[neonMemoryWords-neonCanaryWords:], "%s, seed %d: buffer %d, beyond its end", name, seed, i)
				}
				for j := range want {
					require.True(t, sameWord(want[j], interpreted.buffers[i][j]), "%s, seed %d: buffer %d, word %d: the processor has %#x, the listing %#x", name, seed, i, j, want[j], interpreted.buffers[i][j])
				}
			}
			if real.tiles != nil {
				require.Equal(t, real.tiles.tiles, interpreted.tiles.tiles, "%s, seed %d: tiles left", name, seed)
			}
			for i, result := range results {
				requireSameResult(t, name, result, frame[places[i]:])
			}
		}
	}
}

// sameWord compares bits, of which a NaN's may differ.
func sameWord(a, b uint32) bool {
	x, y := math.Float32frombits(a), math.Float32frombits(b)
	return a == b || x != x && y != y
}

func requireSameResult(t *testing.T, name string, result reflect.Value, place []byte) {
	var got float64
	if result.Kind() == reflect.Float32 {
		got = float64(*(*float32)(unsafe.Pointer(&place[0])))
	} else {
		got = *(*float64)(unsafe.Pointer(&place[0]))
	}
	if want := result.Float(); want == want || got == got {
		require.Equal(t, math.Float64bits(want), math.Float64bits(got), "%s: the processor returns %g, the listing %g", name, want, got)
	}
}

// neonFrame lays out arguments and results as the assembly does.
func neonFrame(function reflect.Type, arguments []reflect.Value) (frame []byte, results []int) {
	size := 0
	place := func(of reflect.Type) int {
		size = (size + int(of.Size()) - 1) / int(of.Size()) * int(of.Size())
		size += int(of.Size())
		return size - int(of.Size())
	}
	frame = make([]byte, 256)
	for _, a := range arguments {
		at := unsafe.Pointer(&frame[place(a.Type())])
		switch a.Kind() {
		case reflect.Pointer:
			*(*uintptr)(at) = a.Pointer()
		case reflect.Int:
			*(*int)(at) = int(a.Int())
		case reflect.Float32:
			*(*float32)(at) = float32(a.Float())
		case reflect.Float64:
			*(*float64)(at) = a.Float()
		}
	}
	size = (size + 7) / 8 * 8
	for i := range function.NumOut() {
		results = append(results, place(function.Out(i)))
	}
	return frame, results
}

// newNEONCall draws the arguments of a routine.
func newNEONCall(r *rand.Rand, name string, function reflect.Type) *neonCall {
	c := &neonCall{}
	n := r.IntN(40)
	switch {
	case strings.Contains(name, "Sinkhorn"):
		n = gatedTokens
	case name == "neonRound" || name == "neonWiden" || name == "neonInterleave":
		n = bfloat16Step * (1 + n/16)
	case name == "neonTranspose":
		n = 1 + n%9
	}
	for i := range function.NumIn() {
		switch in := function.In(i); in.Kind() {
		case reflect.Int:
			value := n
			if name == "neonTranspose" && i < 4 { // a distance
				value = 40 + n
			}
			if strings.HasSuffix(name, "Rows") {
				value = neonScoreRows
			}
			c.arguments = append(c.arguments, reflect.ValueOf(value))
		case reflect.Float32:
			c.arguments = append(c.arguments, reflect.ValueOf(float32(r.NormFloat64())))
		case reflect.Float64:
			c.arguments = append(c.arguments, reflect.ValueOf(r.NormFloat64()))
		default:
			c.arguments = append(c.arguments, c.pointer(r, name, in))
		}
	}
	return c
}

// neonScoreRows is the number of rows that tests pass.
const neonScoreRows = 3

// pointer draws what an argument points to.
func (c *neonCall) pointer(r *rand.Rand, name string, like reflect.Type) reflect.Value {
	float := func() *float32 {
		return c.memory(r, reflect.TypeFor[*float32](), anyFloat32).Interface().(*float32)
	}
	switch like {
	case reflect.TypeFor[*float64]():
		return c.memory(r, like, ordinary)
	case reflect.TypeFor[*scoreRow[float32]]():
		rows := make([]scoreRow[float32], neonScoreRows)
		for i := range rows {
			rows[i] = scoreRow[float32]{at: 100 * i, n: r.IntN(40), far: 50, shift: float32(r.NormFloat64()), delta: float32(r.NormFloat64())}
		}
		c.buffers = append(c.buffers, unsafe.Slice((*uint32)(unsafe.Pointer(&rows[0])), int(unsafe.Sizeof(rows[0]))*len(rows)/4))
		return reflect.ValueOf(&rows[0])
	case reflect.TypeFor[*tile[float32]]():
		c.tiles = c.tile(r, name)
		return reflect.ValueOf(c.tiles)
	case reflect.TypeFor[*combineTile[float32]]():
		cols := 1 + r.IntN(40)
		x := &combineTile[float32]{c: float(), a: float(), b: float(), k: 1 + r.IntN(9), rs: 40, ks: 4, a2: float(), b2: float(), k2: r.IntN(3), rs2: 4, ks2: 36, cols: cols}
		if r.IntN(2) == 0 {
			x.d = float()
		}
		return reflect.ValueOf(x)
	case reflect.TypeFor[*axpyTile[float32]]():
		return reflect.ValueOf(&axpyTile[float32]{y: float(), a: float(), as: 3, x: float(), xs: 50, n: 1 + r.IntN(45)})
	case reflect.TypeFor[*gemvTile[float32]]():
		return reflect.ValueOf(&gemvTile[float32]{y: float(), ys: 9, a: float(), as: 50, x: float(), xs: 60, squares: 1 + r.IntN(5)})
	case reflect.TypeFor[*sumProductsTile[float32]]():
		x := &sumProductsTile[float32]{out: float(), a: float(), as: 50, b: float(), bs: 55, rows: 1 + r.IntN(4), n: 1 + r.IntN(45)}
		if r.IntN(2) == 0 {
			x.addend = float()
		}
		return reflect.ValueOf(x)
	case reflect.TypeFor[*weightsTile]():
		return reflect.ValueOf(&weightsTile{y: float(), a: float(), x: unsafe.Pointer(float()), scales: float(), k: 1 + r.IntN(neonUnpackedRows), panel: 16 * neonUnpackedRows})
	}
	return c.memory(r, like, anyFloat32)
}

var neonTileName = regexp.MustCompile(`^neon(Split|Wide|dot|)([nt]?)(\d)x(\d)(m?)$`)

// tile draws a tile for a routine with this name.
func (c *neonCall) tile(r *rand.Rand, name string) *tile[float32] {
	m := neonTileName.FindStringSubmatch(name)
	rows, _ := strconv.Atoi(m[3])
	fill := anyFloat32
	if m[1] == "Split" || m[1] == "Wide" {
		fill = anyPair
	}
	buffer := func(fill func(*rand.Rand) uint32) *float32 {
		return c.memory(r, reflect.TypeFor[*float32](), fill).Interface().(*float32)
	}
	x := &tile[float32]{
		a: buffer(fill), b: buffer(fill), c: buffer(anyFloat32), d: buffer(anyFloat32),
		k: 1 + r.IntN(13), tiles: 1 + r.IntN(3), as: 17, bs: 19, cs: 23, cols: 4, alpha: 1.25, beta: float32(r.IntN(3)) / 2,
	}
	if x.an = rows * x.as; m[2] == "t" {
		x.an, x.as = rows, 30
	}
	if m[1] == "" {
		x.bn, x.cn = 5, 7
	}
	if m[5] == "m" {
		x.cols = 1 + r.IntN(3)
	}
	return x
}
