//go:build cuda

package roofline

import (
	"fmt"
	"io"
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/models"
)

const (
	copied  = 64 << 20 // floats of the copy that is timed
	timings = 10       // of each piece of work, after one that is not counted
)

// product is a matrix product of a step, and how often a step has it.
type product struct {
	cuda.Gemm
	count int
}

// Ceilings measures on the GPU what a step's predictions assume: how many bytes a second the device copies, and how many
// FLOPs a second each of the step's matrix products reaches through our binding of cuBLAS.
func Ceilings(c models.Spec, o Options, out io.Writer) error {
	d, err := cuda.Open(cuda.Options{Precision: o.Precision})
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	if o.GPU.Multiprocessors, err = d.Multiprocessors(); err != nil {
		return err
	}
	products, err := productsOf(c, o)
	if err != nil {
		return err
	}
	bytes, err := copyRate(d)
	if err != nil {
		return errors.Wrap(err, "copy")
	}
	t := figure.Table{Align: "lrrrl"}
	t.Row("product", "in a step", "microseconds", "TFLOP/s", "")
	var seconds, flops float64
	for _, p := range products {
		took, err := productTime(d, p.Gemm)
		if err != nil {
			return errors.Wrap(err, p.String())
		}
		note := ""
		if !p.Aligned() {
			note = "rows that are no multiples of 16 bytes"
		}
		t.Row(p, p.count, fmt.Sprintf("%.1f", 1e6*took), fmt.Sprintf("%.1f", float64(p.FLOPs())/took/tera), note)
		seconds, flops = seconds+float64(p.count)*took, flops+float64(p.count*p.FLOPs())
	}
	_, err = fmt.Fprintf(out, "%s: copies %.0f GB/s; all products of a step of %d x %d in %s: %.2f ms, %.1f TFLOP/s\n\n%s",
		d.Name(), bytes/giga, o.Batch, c.Seq, d.Precision(), 1e3*seconds, flops/seconds/tera, t.Text())
	return errors.WithStack(err)
}

// productsOf lists the different products of a step, those with most FLOPs first.
func productsOf(c models.Spec, o Options) ([]product, error) {
	ops, err := Record(c, o)
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
			g.A.Ptr, g.B.Ptr, g.C.Ptr = 0, 0, 0
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

// String is as in "16384 x 768 x 3072 bf16, B transposed".
func (p product) String() string {
	text := fmt.Sprintf("%d x %d x %d %v", p.M, p.K, p.N, p.A.Type)
	if p.Batch > 0 {
		text += fmt.Sprintf(", %d of them", p.Batch)
	}
	if p.TransA {
		text += ", A transposed"
	}
	if p.TransB {
		text += ", B transposed"
	}
	return text
}

// copyRate is how many bytes a second a copy on the device reads and writes.
func copyRate(d *cuda.Device) (float64, error) {
	from, err := d.Alloc(cuda.F32, copied)
	if err != nil {
		return 0, err
	}
	defer d.Free(from)
	to, err := d.Alloc(cuda.F32, copied)
	if err != nil {
		return 0, err
	}
	defer d.Free(to)
	if err := d.Zero(from); err != nil {
		return 0, err
	}
	seconds, err := timed(d, func() error { return d.Convert(to, from) })
	return 2 * float64(from.Bytes()) / seconds, err
}

// productTime is how long a product takes on arrays of zeros: a GPU that is held back by its power does not show it.
func productTime(d *cuda.Device, g cuda.Gemm) (seconds float64, err error) {
	rowsA, rowsB := g.M, g.K // as they are stored
	if g.TransA {
		rowsA = g.K
	}
	if g.TransB {
		rowsB = g.N
	}
	for _, part := range []struct {
		array            *cuda.Array
		rows, ld, stride int
	}{{&g.A, rowsA, g.LDA, g.StrideA}, {&g.B, rowsB, g.LDB, g.StrideB}, {&g.C, g.M, g.LDC, g.StrideC}} {
		array, err := d.Alloc(part.array.Type, part.rows*part.ld+(max(1, g.Batch)-1)*part.stride)
		if err != nil {
			return 0, err
		}
		defer d.Free(array)
		if err := d.Zero(array); err != nil {
			return 0, err
		}
		*part.array = array
	}
	return timed(d, func() error { return d.Gemm(g) })
}

// timed is the mean time of some runs after the first, in seconds.
func timed(d *cuda.Device, f func() error) (float64, error) {
	leave, err := d.Enter()
	if err != nil {
		return 0, err
	}
	defer leave()
	if err := f(); err != nil {
		return 0, err
	}
	took, err := d.Timed(func() error {
		for range timings {
			if err := f(); err != nil {
				return err
			}
		}
		return nil
	})
	return took.Seconds() / timings, err
}
