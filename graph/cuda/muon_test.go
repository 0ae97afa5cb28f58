//go:build cuda

package cuda

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	cpu "github.com/residua-go/residua/graph/kernel"
)

// muonParam is a parameter in AdamW's table that consists of matrices [rows, columns] side by side.
type muonParam struct {
	w, g, m       []float32
	rows, columns int
	matrices      []MuonMatrix
}

// muonOf makes an optimizer with one parameter for AdamW and several for Muon, including more
// matrices of one shape than fit into a batch.
func muonOf(t *testing.T, d *Device) (*AdamW, []*muonParam) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		return x
	}
	all := adamWParams(t, d)[:2]
	rows := []AdamWRow{all[0].row, all[1].row}
	var params []*muonParam
	var matrices []MuonMatrix
	for i, c := range [][3]int{{8, 8, muonMost + 1}, {12, 20, 1}, {20, 12, 2}, {5, 33, 1}} {
		n := c[0] * c[1] * c[2]
		p := &muonParam{w: random(n), g: random(n), m: make([]float32, n), rows: c[0], columns: c[1]}
		row := AdamWRow{Value: onDevice(t, d, p.w, i%2), Grad: onDevice(t, d, p.g, i%3), Moment1: onDevice(t, d, p.m, 0), Rate: 0.1}
		shadow, err := d.Alloc(BF16, n)
		require.NoError(t, err)
		t.Cleanup(func() { d.Free(shadow) })
		row.Shadow = shadow
		rows = append(rows, row)
		for at := range c[2] {
			from := func(a Array) Array { return a.Slice(at*c[1], n-at*c[1]) }
			p.matrices = append(p.matrices, MuonMatrix{Value: from(row.Value), Shadow: from(shadow), Grad: from(row.Grad), Momentum: from(row.Moment1),
				Rows: c[0], Columns: c[1], Stride: c[1] * c[2], Rate: 0.1 * float64(i+1), Decay: 0.01})
		}
		params, matrices = append(params, p), append(matrices, p.matrices...)
	}
	a := adamWOfRows(t, d, rows)
	var err error
	a.Muon, err = NewMuon(d, 0.9, matrices)
	require.NoError(t, err)
	return a, params
}

// TestMuonMatchesTheCPU compares steps with the CPU's kernel.
func TestMuonMatchesTheCPU(t *testing.T) {
	d := testDevice(t)
	a, params := muonOf(t, d)
	var k cpu.Muon[float32]
	for step := range 2 {
		norm, finite, err := a.Step(AdamWStep{Factor: 0.5, GradScale: 1, Clip: 1, Step: step + 1})
		require.NoError(t, err)
		require.True(t, finite)
		for i, p := range params {
			var matrices []cpu.MuonMatrix[float32]
			for j, m := range p.matrices {
				matrices = append(matrices, cpu.MuonMatrix[float32]{Weight: p.w[j*p.columns:], Gradient: p.g[j*p.columns:], Momentum: p.m[j*p.columns:],
					Rows: p.rows, Columns: p.columns, Stride: m.Stride, Rate: m.Rate, Decay: m.Decay})
			}
			k.Run(nil, matrices, cpu.MuonParams{Factor: 0.5, Momentum: 0.9, GradScale: 1 / norm})
			whole := func(x Array) Array { return x.Slice(0, len(p.w)) }
			assert.InDeltaSlice(t, p.w, onHost(t, d, whole(p.matrices[0].Value)), 1e-5, "values of parameter %d, step %d", i, step)
			assert.InDeltaSlice(t, p.m, onHost(t, d, whole(p.matrices[0].Momentum)), 1e-6, "momenta of parameter %d, step %d", i, step)
			assert.Equal(t, shadowOf(onHost(t, d, whole(p.matrices[0].Value))), shadowOnHost(t, d, whole(p.matrices[0].Shadow)), "shadow of parameter %d", i)
		}
	}
}

// TestMuonLeavesAllAloneIfNotFinite: a NaN in one gradient changes nothing.
func TestMuonLeavesAllAloneIfNotFinite(t *testing.T) {
	d := testDevice(t)
	a, params := muonOf(t, d)
	bad := params[1]
	g := slices.Clone(bad.g)
	g[3] = float32(math.NaN())
	require.NoError(t, d.Upload(bad.matrices[0].Grad, unsafe.Pointer(unsafe.SliceData(g))))
	_, finite, err := a.Step(AdamWStep{Factor: 1, GradScale: 1, Step: 1})
	require.NoError(t, err)
	require.False(t, finite)
	for _, p := range params {
		assert.Equal(t, p.w, onHost(t, d, p.matrices[0].Value.Slice(0, len(p.w))))
		assert.Equal(t, p.m, onHost(t, d, p.matrices[0].Momentum.Slice(0, len(p.w))))
	}
	_, err = NewMuon(d, 0.9, nil)
	assert.ErrorContains(t, err, "got none")
}
