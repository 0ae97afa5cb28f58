package kernel

import (
	"math"
	"unsafe"

	"github.com/residua-go/residua/internal/memory"
)

// WeightFormat says how Weights store their entries.
type WeightFormat string

// The formats of Weights.
const (
	// WeightsBF16 rounds each entry to the nearest bfloat16: 2 bytes. On processors with AMX, and
	// on AMD's with AVX512_BF16, products round their A, too, as in training with GemmBFloat16.
	WeightsBF16 WeightFormat = "bf16"
	// WeightsInt8 stores an entry w as the integer q in [-127, 127] with w approximately s q: 1
	// byte. The scale s, a float32, is max |w| / 127 over a group of 64 entries of one column; q is
	// the integer nearest to w/s, the even one of two equally near. On processors with AMX products
	// of more than 4 rows round s q and their A to bfloat16, except after RowsAlone.
	WeightsInt8 WeightFormat = "int8"
)

const (
	weightsColumns = 64 // of a panel
	weightsGroup   = 64 // rows that share a column's scale
)

// Weights are the matrix B [k, n] of a product, for inference: products with float32 are summed in
// float32 (Gemm.Weights). They are stored in panels of 64 columns, each row after row, as a product
// of few rows reads them. On processors where products of bfloat16 are faster than those of float32
// (AMX, and AMD's AVX512_BF16), weights in bfloat16 are stored in pairs, as those products read
// them.
type Weights struct {
	format WeightFormat
	k, n   int
	words  []BFloat16 // [panels, k, 64]
	bytes  []int8     // [panels, k, 64], too
	scales []float32  // [panels, groups, 64]

	alone  bool             // see RowsAlone
	pairs  *WeightsBFloat16 // owns packed, which replaces words; nil: there is none
	packed PackedBFloat16
}

// NewWeights converts b [k, n], which is stored as [n, k] if transposed.
func NewWeights(p *Pool, format WeightFormat, b []float32, k, n int, transposed bool) *Weights {
	return newWeights(p, format, b, k, n, transposed, machinePairs == avx512 || machinePairs == amx)
}

func newWeights(p *Pool, format WeightFormat, b []float32, k, n int, transposed, pairs bool) *Weights {
	w := &Weights{format: format, k: k, n: n}
	if format == WeightsBF16 && pairs {
		w.pack(p, b, transposed)
		return w
	}
	panels := (n + weightsColumns - 1) / weightsColumns
	if format == WeightsBF16 {
		w.words = make([]BFloat16, panels*k*weightsColumns)
		memory.LargePages(unsafe.Pointer(unsafe.SliceData(w.words)), 2*len(w.words))
	} else {
		w.bytes, w.scales = make([]int8, panels*k*weightsColumns), make([]float32, panels*w.groups()*weightsColumns)
		memory.LargePages(unsafe.Pointer(unsafe.SliceData(w.bytes)), len(w.bytes))
	}
	p.Do(panels, &convertWeights{w, b, transposed})
	return w
}

// pack converts b for products of bfloat16.
func (w *Weights) pack(p *Pool, b []float32, transposed bool) {
	w.pairs = &WeightsBFloat16{}
	width := pairKernelsOf(fastest).width()
	words, _ := carve[float32](&w.pairs.memory, (w.n+width-1)/width*width*panelPairs(w.k), 0)
	memory.LargePages(unsafe.Pointer(unsafe.SliceData(words)), 4*len(words))
	w.packed = w.pairs.PackFloat32(p, transposed, w.n, w.k, b, choose(transposed, w.k, w.n))
	w.pairs.packer = packer{} // lets b go
}

// rounds tells whether products of m rows on a path are computed in bfloat16 (gemm_rounded.go).
func (w *Weights) rounds(p path, m int) bool {
	return w.pairs != nil || w.format == WeightsInt8 && !w.alone && m > fewRows && pairKernelsOf(p).tiles
}

// RowsAlone returns the same weights for products in which the bits of a row must not depend on
// the number of rows: in int8 they are multiplied in float32 on every processor.
func (w *Weights) RowsAlone() *Weights {
	alone := *w
	alone.alone = true
	return &alone
}

// Bytes returns the memory that the entries and scales take.
func (w *Weights) Bytes() int {
	return 2*len(w.words) + len(w.bytes) + 4*len(w.scales) + 4*len(w.packed.words)
}

func (w *Weights) groups() int { return (w.k + weightsGroup - 1) / weightsGroup }

// entry returns entry (row, column) as float32.
func (w *Weights) entry(row, column int) float32 {
	if w.pairs != nil {
		return w.packed.entry(row, column).Float32()
	}
	panel, column := column/weightsColumns, column%weightsColumns
	i := (panel*w.k+row)*weightsColumns + column
	if w.format == WeightsBF16 {
		return w.words[i].Float32()
	}
	return float32(w.bytes[i]) * w.scales[(panel*w.groups()+row/weightsGroup)*weightsColumns+column]
}

// convertWeights converts panels.
type convertWeights struct {
	*Weights
	b          []float32
	transposed bool
}

func (t *convertWeights) Part(_, lo, hi int) {
	rows := make([]float32, t.k*weightsColumns) // the rows of a panel
	for panel := lo; panel < hi; panel++ {
		first := panel * weightsColumns
		columns := min(weightsColumns, t.n-first)
		if t.transposed {
			transpose(pathOf[float32](fastest), rows, weightsColumns, t.b[first*t.k:], t.k, columns, t.k)
		} else {
			for i := range t.k {
				copy(rows[i*weightsColumns:], t.b[i*t.n+first:][:columns])
			}
		}
		at := panel * len(rows)
		if t.format == WeightsBF16 {
			RoundBFloat16(t.words[at:at+len(rows)], rows)
			continue
		}
		for g := range t.groups() {
			from, to := g*weightsGroup*weightsColumns, min((g+1)*weightsGroup*weightsColumns, len(rows))
			quantise(t.bytes[at+from:at+to], t.scales[(panel*t.groups()+g)*weightsColumns:][:weightsColumns], rows[from:to])
		}
	}
}

// quantise stores a group of rows x [rows, 64] as described at WeightsInt8. For a column of zeros,
// all q are 0.
func quantise(q []int8, scales, x []float32) {
	var largest [weightsColumns]float32
	for i, v := range x {
		c := i % weightsColumns
		largest[c] = max(largest[c], v, -v)
	}
	for c, v := range largest {
		scales[c] = float32(float64(v) / 127)
	}
	for i, v := range x {
		if s := scales[i%weightsColumns]; s > 0 {
			q[i] = int8(max(-127, min(math.RoundToEven(float64(v)/float64(s)), 127)))
		}
	}
}

// weightsTile is one call of a micro-kernel over k rows of a panel. It computes y [64] = a [k] x,
// or unpacks x as float32 into a product's panels, which are panel elements apart. The rows begin
// with a group. The assembly reads it by offset.
type weightsTile struct {
	y, a   *float32
	x      unsafe.Pointer
	scales *float32
	k      int
	panel  int
}

// tile returns the call for the rows [p, p+k) of a panel.
func (w *Weights) tile(panel, p, k int) weightsTile {
	t, at := weightsTile{k: k}, (panel*w.k+p)*weightsColumns
	if w.format == WeightsBF16 {
		t.x = unsafe.Pointer(&w.words[at])
	} else {
		t.x, t.scales = unsafe.Pointer(&w.bytes[at]), &w.scales[(panel*w.groups()+p/weightsGroup)*weightsColumns]
	}
	return t
}

// multiply computes y [64] = a times the rows [p, p+len(a)) of a panel; each sum is taken in the
// order of rows by fused multiply-adds.
func (w *Weights) multiply(path path, y, a []float32, panel, p int) {
	if path == portable {
		clear(y)
		for i, v := range a {
			for c := range min(weightsColumns, w.n-panel*weightsColumns) {
				y[c] = fma(v, w.entry(p+i, panel*weightsColumns+c), y[c])
			}
		}
		return
	}
	t := w.tile(panel, p, len(a))
	t.y, t.a = &y[0], &a[0]
	t.runFast(path, w.format, false)
}

// unpack writes the rows [p, p+k) of a panel as float32, in panels as wide as a product's.
func (w *Weights) unpack(kernels *microkernels, to []float32, panel, p, k int) {
	width := kernels.width()
	if kernels.path != portable {
		t := w.tile(panel, p, k)
		t.y, t.panel = &to[0], width*k
		t.runFast(kernels.path, w.format, true)
		return
	}
	for c := range min(weightsColumns, w.n-panel*weightsColumns) {
		for i := range k {
			to[(c/width*k+i)*width+c%width] = w.entry(p+i, panel*weightsColumns+c)
		}
	}
}

// sumWeights computes C from panels of Weights, the first of which begins at C's first column.
func (q *product[T]) sumWeights(path path, cutK int, sums []T) {
	for j := 0; j < q.n; j += weightsColumns {
		n := min(weightsColumns, q.n-j)
		for p := 0; p < q.k; p += cutK {
			k := min(cutK, q.k-p)
			for i := range q.m {
				q.weights.multiply(path, float32s(sums), float32s(q.a[i*q.lda+p:][:k]), (q.column+j)/weightsColumns, p)
				q.addRow(q.c[i*q.ldc+j:][:n], sums, p)
			}
		}
	}
	q.finished(0, 0, q.m, q.n)
}

// placeWeights unpacks B[p:, j:] from Weights into the block's panels.
func (q *product[T]) placeWeights(x *block[T], space []T, p, j int) {
	for s := 0; s < x.n; s += weightsColumns {
		q.weights.unpack(x.kernels, float32s(space[s*x.tile.k:]), (q.column+j+s)/weightsColumns, p, x.tile.k)
	}
}

// float32s returns s itself, for a T that is float32.
func float32s[T Float](s []T) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(s))), len(s))
}
