//go:build cuda

package cuda

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	cpu "github.com/residua-go/residua/graph/kernel"
)

// testDevice opens the device for a test.
func testDevice(t *testing.T) *Device {
	t.Helper()
	d, err := Open(Options{Precision: PrecisionFP32})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, d.Close()) })
	return d
}

// onDevice uploads x to an address that is offset elements after an aligned one.
func onDevice(t *testing.T, d *Device, x []float32, offset int) Array {
	t.Helper()
	whole, err := d.Alloc(F32, len(x)+offset)
	require.NoError(t, err)
	t.Cleanup(func() { d.Free(whole) })
	a := whole.Slice(offset, len(x))
	require.NoError(t, d.Upload(a, unsafe.Pointer(unsafe.SliceData(x))))
	return a
}

func onHost(t *testing.T, d *Device, a Array) []float32 {
	t.Helper()
	x := make([]float32, a.N)
	require.NoError(t, d.Download(unsafe.Pointer(unsafe.SliceData(x)), a))
	return x
}

// adamWParam is a parameter with its copies on the host and the device.
type adamWParam struct {
	w, g, m, v []float32
	row        AdamWRow
}

func (p *adamWParam) config(factor float64, step int, scale float64) cpu.AdamWParams {
	return cpu.AdamWParams{LR: factor * p.row.Rate, Decay: factor * p.row.Decay, Beta1: p.row.Beta1, Beta2: p.row.Beta2,
		Eps: p.row.Eps, Step: step, GradScale: scale}
}

// adamWParams makes parameters of odd and even sizes, smaller and larger than a tile; some are not
// aligned and every other one has a shadow.
func adamWParams(t *testing.T, d *Device) []*adamWParam {
	r := rand.New(rand.NewPCG(1, 2))
	random := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		return x
	}
	var params []*adamWParam
	for i, n := range []int{1, 3, 1000, adamWTileSize, 2*adamWTileSize + 5, 770} {
		p := &adamWParam{w: random(n), g: random(n), m: make([]float32, n), v: make([]float32, n)}
		p.row = AdamWRow{
			Value: onDevice(t, d, p.w, i%2), Grad: onDevice(t, d, p.g, i%3), Moment1: onDevice(t, d, p.m, 0), Moment2: onDevice(t, d, p.v, i%2),
			Rate: 1e-2 * float64(i+1), Decay: 1e-3 * float64(i), Beta1: 0.9, Beta2: 0.95 + 0.01*float64(i%2), Eps: 1e-8,
		}
		if i%2 == 0 {
			shadow, err := d.Alloc(BF16, n)
			require.NoError(t, err)
			t.Cleanup(func() { d.Free(shadow) })
			p.row.Shadow = shadow
		}
		params = append(params, p)
	}
	return params
}

func adamWOf(t *testing.T, d *Device, params []*adamWParam) *AdamW {
	t.Helper()
	rows := make([]AdamWRow, len(params))
	for i, p := range params {
		rows[i] = p.row
	}
	return adamWOfRows(t, d, rows)
}

func adamWOfRows(t *testing.T, d *Device, rows []AdamWRow) *AdamW {
	t.Helper()
	a, err := NewAdamW(d, rows)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, a.Close()) })
	return a
}

// TestAdamWMatchesTheCPU compares steps with and without clipping with the CPU's kernels, combined
// as in Optimizer.Step.
func TestAdamWMatchesTheCPU(t *testing.T) {
	d, pool := testDevice(t), cpu.NewPool(1)
	defer pool.Close()
	params := adamWParams(t, d)
	a := adamWOf(t, d, params)
	var norms cpu.GlobalNorm[float32]
	var adam cpu.AdamW[float32]
	for step, clip := range []float64{0, 1, 1e6} {
		for _, p := range params {
			norms.Add(p.g)
		}
		squares := norms.SumSquares(pool)
		scale := -0.5
		want := math.Sqrt(squares) * 0.5
		s := AdamWStep{Factor: 0.75, GradScale: scale, Clip: clip, Step: step + 1}
		if clip > 0 && want > clip {
			scale *= clip / want
		}
		norm, finite, err := a.Step(s)
		require.NoError(t, err)
		assert.True(t, finite)
		assert.InEpsilon(t, want, norm, 1e-12)
		for i, p := range params {
			adam.Add(p.w, p.g, p.m, p.v, p.config(s.Factor, s.Step, scale))
			adam.Run(pool)
			assert.InDeltaSlice(t, p.w, onHost(t, d, p.row.Value), 1e-6, "values of parameter %d, step %d", i, s.Step)
			assert.InDeltaSlice(t, p.m, onHost(t, d, p.row.Moment1), 1e-6, "first moments of parameter %d, step %d", i, s.Step)
			assert.InDeltaSlice(t, p.v, onHost(t, d, p.row.Moment2), 1e-6, "second moments of parameter %d, step %d", i, s.Step)
		}
	}
}

// TestAdamWRefreshesShadows compares each shadow with its value, rounded to bfloat16.
func TestAdamWRefreshesShadows(t *testing.T) {
	d := testDevice(t)
	params := adamWParams(t, d)
	_, _, err := adamWOf(t, d, params).Step(AdamWStep{Factor: 1, GradScale: 1, Step: 1})
	require.NoError(t, err)
	for i, p := range params {
		if p.row.Shadow.None() {
			continue
		}
		assert.Equal(t, shadowOf(onHost(t, d, p.row.Value)), shadowOnHost(t, d, p.row.Shadow), "parameter %d", i)
	}
}

// shadowOf rounds x to bfloat16.
func shadowOf(x []float32) []uint16 {
	rounded := make([]uint16, len(x))
	for i, v := range x {
		bits := math.Float32bits(v)
		rounded[i] = uint16((bits + 0x7fff + bits>>16&1) >> 16)
	}
	return rounded
}

func shadowOnHost(t *testing.T, d *Device, a Array) []uint16 {
	x := make([]uint16, a.N)
	require.NoError(t, d.Download(unsafe.Pointer(unsafe.SliceData(x)), a))
	return x
}

// TestAdamWLeavesAllAloneIfNotFinite gives one gradient a NaN, then an infinity.
func TestAdamWLeavesAllAloneIfNotFinite(t *testing.T) {
	d := testDevice(t)
	params := adamWParams(t, d)
	a := adamWOf(t, d, params)
	bad := params[len(params)-2]
	for _, x := range []float64{math.NaN(), math.Inf(-1)} {
		bad.g[len(bad.g)-1] = float32(x)
		require.NoError(t, d.Upload(bad.row.Grad, unsafe.Pointer(unsafe.SliceData(bad.g))))
		norm, finite, err := a.Step(AdamWStep{Factor: 1, GradScale: 1, Clip: 1, Step: 1})
		require.NoError(t, err)
		assert.False(t, finite)
		assert.Equal(t, math.IsNaN(x), math.IsNaN(norm))
		assert.Equal(t, math.IsInf(x, 0), math.IsInf(norm, 1))
		for _, p := range params {
			assert.Equal(t, p.w, onHost(t, d, p.row.Value))
			assert.Equal(t, p.m, onHost(t, d, p.row.Moment1))
			assert.Equal(t, p.v, onHost(t, d, p.row.Moment2))
		}
	}
}

// TestAdamWIsDeterministic takes the same step twice.
func TestAdamWIsDeterministic(t *testing.T) {
	d := testDevice(t)
	var values [2][][]float32
	var norms [2]float64
	for run := range 2 {
		params := adamWParams(t, d)
		var err error
		norms[run], _, err = adamWOf(t, d, params).Step(AdamWStep{Factor: 1, GradScale: 1, Clip: 0.5, Step: 3})
		require.NoError(t, err)
		for _, p := range params {
			values[run] = append(values[run], onHost(t, d, p.row.Value))
		}
	}
	assert.Equal(t, norms[0], norms[1])
	assert.Equal(t, values[0], values[1])
}

func TestAdamWRefusesWrongRows(t *testing.T) {
	d := testDevice(t)
	good := adamWParams(t, d)[2].row
	for name, change := range map[string]func(*AdamWRow){
		"gradient: want 1000 elements":      func(r *AdamWRow) { r.Grad = r.Grad.Slice(0, 999) },
		"first moment: want 1000 elements":  func(r *AdamWRow) { r.Moment1 = Array{} },
		"shadow: want 1000 elements of bf1": func(r *AdamWRow) { r.Shadow = r.Value },
	} {
		row := good
		change(&row)
		_, err := NewAdamW(d, []AdamWRow{good, row})
		assert.ErrorContains(t, err, "parameter 1")
		assert.ErrorContains(t, err, name)
	}
	_, err := NewAdamW(d, nil)
	assert.ErrorContains(t, err, "got none")
}
