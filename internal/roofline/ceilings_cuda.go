//go:build cuda

package roofline

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"time"
	"unsafe"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/models"
)

const (
	copied  = 64 << 20               // number of floats in the copy to time
	rotated = 256 << 20              // bytes of the operands that a product alternates between: more than a GPU's caches hold
	most    = 64                     // limit on the number of such sets of operands
	warmUp  = 300 * time.Millisecond // time to work until the clock of an idle GPU has risen
	timed   = 50 * time.Millisecond  // time to measure each piece of work
)

// product is a matrix product of a step, and how often the step computes it.
type product struct {
	cuda.Gemm
	count int
}

// Ceilings measures on the GPU what predictions of a step assume: how many bytes a second the
// device copies, and how many FLOPs a second each of the step's matrix products reaches through our
// binding of cuBLAS.
func Ceilings(spec models.Spec, o Options, out io.Writer) error {
	d, err := cuda.Open(cuda.Options{Precision: o.Precision})
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	if o.GPU.Multiprocessors, err = d.Multiprocessors(); err != nil {
		return err
	}
	products, err := productsOf(spec, o)
	if err != nil {
		return err
	}
	m := &meter{Device: d, draw: rand.New(rand.NewPCG(1, 2))}
	defer m.close()
	if _, _, err := m.product(products[0].Gemm, warmUp); err != nil {
		return errors.Wrap(err, "warm-up")
	}
	bytes, err := m.copyRate()
	if err != nil {
		return errors.Wrap(err, "copy")
	}
	t := figure.Table{Align: "lrrrl"}
	t.Row("product", "in a step", "microseconds", "TFLOP/s", "")
	var seconds, flops float64
	for _, p := range products {
		took, note, err := m.product(p.Gemm, timed)
		if err != nil {
			return errors.Wrap(err, p.String())
		}
		if !p.Aligned() {
			note = "rows that are no multiples of 16 bytes"
		}
		t.Row(p, p.count, fmt.Sprintf("%.1f", 1e6*took), fmt.Sprintf("%.1f", float64(p.FLOPs())/took/tera), note)
		seconds, flops = seconds+float64(p.count)*took, flops+float64(p.count*p.FLOPs())
	}
	_, err = fmt.Fprintf(out, "%s: copies %.0f GB/s; all products of a step of %d x %d in %s: %.2f ms, %.1f TFLOP/s\n\n%s",
		d.Name(), bytes/giga, o.Batch, spec.Seq, d.Precision(), 1e3*seconds, flops/seconds/tera, t.Text())
	return errors.WithStack(err)
}

// productsOf lists the different products of a step, those with the most FLOPs first.
func productsOf(spec models.Spec, o Options) ([]product, error) {
	ops, err := record(spec, o)
	if err != nil {
		return nil, err
	}
	var all []product
	for _, op := range ops {
		for _, w := range op.Work {
			if w.Product == nil {
				continue
			}
			g := *w.Product
			g.A.Ptr, g.B.Ptr, g.C.Ptr, g.Aux.Ptr = 0, 0, 0, 0
			if i := slices.IndexFunc(all, func(p product) bool { return p.Gemm == g }); i >= 0 {
				all[i].count++
			} else {
				all = append(all, product{g, 1})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b product) int { return b.count*b.FLOPs() - a.count*a.FLOPs() })
	return all, nil
}

// meter times work on a device, on random data: products of zeros take less power, and the GPU's
// clock would be higher.
type meter struct {
	*cuda.Device
	draw *rand.Rand
	pool []cuda.Array // arrays of random numbers, one for each type
}

// pooled is how many random numbers of each type there are.
const pooled = 1 << 20

func (m *meter) close() {
	for _, p := range m.pool {
		m.Free(p)
	}
}

// random fills an array with numbers of mean 0 and variance 1.
func (m *meter) random(a cuda.Array) error {
	i := slices.IndexFunc(m.pool, func(p cuda.Array) bool { return p.Type == a.Type })
	if i < 0 {
		p, err := m.Alloc(a.Type, pooled)
		if err != nil {
			return err
		}
		i, m.pool = len(m.pool), append(m.pool, p)
		if err := m.upload(p); err != nil {
			return err
		}
	}
	for from := 0; from < a.N; from += pooled {
		n := min(pooled, a.N-from)
		if err := m.Convert(a.Slice(from, n), m.pool[i].Slice(0, n)); err != nil {
			return err
		}
	}
	return nil
}

// upload draws the numbers for an array of the pool.
func (m *meter) upload(p cuda.Array) error {
	floats, halves := make([]float32, p.N), make([]uint16, p.N)
	for i := range floats {
		floats[i] = float32(m.draw.NormFloat64())
		halves[i] = uint16(math.Float32bits(floats[i]) >> 16)
	}
	if p.Type == cuda.BF16 {
		return m.Upload(p, unsafe.Pointer(&halves[0]))
	}
	return m.Upload(p, unsafe.Pointer(&floats[0]))
}

// copyRate returns how many bytes a second a copy on the device reads and writes.
func (m *meter) copyRate() (float64, error) {
	from, err := m.Alloc(cuda.F32, copied)
	if err != nil {
		return 0, err
	}
	defer m.Free(from)
	to, err := m.Alloc(cuda.F32, copied)
	if err != nil {
		return 0, err
	}
	defer m.Free(to)
	if err := m.random(from); err != nil {
		return 0, err
	}
	seconds, err := m.seconds(timed, func(int) error { return m.Convert(to, from) })
	return 2 * float64(from.Bytes()) / seconds, err
}

// product returns the time of a product whose operands no cache holds.
func (m *meter) product(g cuda.Gemm, about time.Duration) (seconds float64, note string, err error) {
	sets, free, err := m.operands(g)
	defer free()
	if err != nil {
		return 0, "", err
	}
	seconds, err = m.seconds(about, func(i int) error { return m.Gemm(sets[i%len(sets)]) })
	if errors.Is(err, cuda.ErrNoEpilogue) {
		note = "without the epilogue, which cuBLASLt does not have"
		seconds, err = m.seconds(about, func(i int) error {
			plain := sets[i%len(sets)]
			plain.Epilogue = cuda.NoEpilogue
			return m.Gemm(plain)
		})
	}
	return seconds, note, err
}

// operands returns products of the same shape with different arrays, enough of them to exceed the
// caches.
func (m *meter) operands(g cuda.Gemm) (sets []cuda.Gemm, free func(), err error) {
	rowsA, rowsB := g.M, g.K // as stored
	if g.TransA {
		rowsA = g.K
	}
	if g.TransB {
		rowsB = g.N
	}
	length := func(rows, ld, stride int) int {
		const line = 64 // elements; each array begins where an array from Alloc could
		return (rows*ld + (max(1, g.Batch)-1)*stride + line - 1) / line * line
	}
	a, b, c := length(rowsA, g.LDA, g.StrideA), length(rowsB, g.LDB, g.StrideB), length(g.M, g.LDC, g.StrideC)
	aux := 0
	if g.Epilogue != cuda.NoEpilogue {
		aux = c
	}
	n := 1 + rotated/(a*g.A.Type.Size()+b*g.B.Type.Size()+(c+aux)*g.C.Type.Size())
	sets = slices.Repeat([]cuda.Gemm{g}, min(n, most))
	var all []cuda.Array
	free = func() {
		for _, array := range all {
			m.Free(array)
		}
	}
	for _, part := range []struct {
		of    func(g *cuda.Gemm) *cuda.Array
		each  int
		write func(cuda.Array) error
	}{
		{func(g *cuda.Gemm) *cuda.Array { return &g.A }, a, m.random},
		{func(g *cuda.Gemm) *cuda.Array { return &g.B }, b, m.random},
		{func(g *cuda.Gemm) *cuda.Array { return &g.C }, c, m.Zero},
		{func(g *cuda.Gemm) *cuda.Array { return &g.Aux }, aux, m.random},
	} {
		if part.each == 0 {
			continue
		}
		array, err := m.Alloc(part.of(&g).Type, part.each*len(sets))
		if err != nil {
			return nil, free, err
		}
		all = append(all, array)
		if err := part.write(array); err != nil {
			return nil, free, err
		}
		for i := range sets {
			*part.of(&sets[i]) = array.Slice(i*part.each, part.each)
		}
	}
	return sets, free, nil
}

// seconds returns the mean time of runs of f, called with their numbers, which take about the given
// time together; a first run is not counted.
func (m *meter) seconds(about time.Duration, f func(i int) error) (float64, error) {
	each := func(i int) error { // with scratch memory of its own
		leave, err := m.Enter()
		if err != nil {
			return err
		}
		defer leave()
		return f(i)
	}
	run := func(n int) (time.Duration, error) {
		return m.Timed(func() error {
			for i := range n {
				if err := each(i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if _, err := run(1); err != nil {
		return 0, err
	}
	one, err := run(1)
	if err != nil {
		return 0, err
	}
	n := int(min(1000, max(1, about/max(1, one))))
	took, err := run(n)
	return took.Seconds() / float64(n), err
}
