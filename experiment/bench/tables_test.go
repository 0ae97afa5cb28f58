package bench

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models"
)

// fake returns a worker that has measured these times.
func fake(parameters, peak int, seconds ...float64) *worker {
	return &worker{name: "fake", facts: facts{Parameters: parameters, Predicted: 900e6, Version: "torch 9"}, seconds: seconds, peak: peak}
}

// fakeReport returns a report of invented measurements for the smallest size of the paper: the RMT
// takes 1 s a step, the transformer 1.25 s.
func fakeReport(t *testing.T) *Report {
	chosen, err := Choose(models.Standard(), []string{"rmt-46m", "transformer-49m"}, Size{})
	require.NoError(t, err)
	r := &Report{Machine: &Machine{Threads: 2, PeakGFLOPS: 400, CopyGBs: 26.94}}
	for i, seconds := range []float64{1, 1.25} {
		r.Models = append(r.Models, newModelResult(chosen[i], fake(45e6, 1000e6, seconds, 9, seconds-0.5, seconds, seconds)))
	}
	r.Sizes = compareSizes(chosen, r.Models)
	r.PyTorch = []PyTorchResult{newPyTorchResult(chosen[0], fake(45e6, 1020e6, 1), []string{Eager, Compiled}, []*worker{fake(45e6, big(4020e6), 3.5), fake(45e6, 1720e6, 1.8)})}
	r.shares()
	return r
}

// big returns a number that an int of 32 bits cannot hold, which a constant may therefore not be.
func big(n int64) int { return int(n) }

func TestRatiosOfFakeMeasurements(t *testing.T) {
	r := fakeReport(t)
	m := r.Models[0]
	assert.Equal(t, 1.0, m.StepSeconds, "the median")
	assert.Equal(t, 2048.0, m.TokensPS)
	assert.InEpsilon(t, 2048*float64(m.TrainFLOPs)/1e9, m.GFLOPS, 1e-12)
	require.Len(t, r.Sizes, 1)
	s := r.Sizes[0]
	assert.InEpsilon(t, 1/1.25, s.Time, 1e-12)
	assert.InEpsilon(t, float64(r.Models[0].TrainFLOPs)/float64(r.Models[1].TrainFLOPs), s.FLOPs, 1e-12)
	assert.InEpsilon(t, s.Time/s.FLOPs, s.Excess, 1e-12)
	baselines := r.PyTorch[0].Baselines
	assert.Equal(t, []float64{3.5, 1.8}, []float64{baselines[0].Speedup, baselines[1].Speedup})
	assert.InEpsilon(t, 300.0/3300, baselines[0].Memory, 1e-12, "beyond 16 bytes for each of 45M parameters")
	assert.InEpsilon(t, 300.0/1000, baselines[1].Memory, 1e-12)
}

// TestSizesAreComparedATokenEach: another number of rows does not change the ratio.
func TestSizesAreComparedATokenEach(t *testing.T) {
	chosen, err := Choose(models.Standard(), []string{"byte-rmt", "byte-transformer"}, Size{})
	require.NoError(t, err)
	chosen[0].Batch *= 2
	results := []ModelResult{newModelResult(chosen[0], fake(1, 1, 2)), newModelResult(chosen[1], fake(1, 1, 1))}
	assert.InEpsilon(t, 1.0, compareSizes(chosen, results)[0].Time, 1e-12)
	assert.Empty(t, compareSizes(chosen, results[:1]), "a model without its partner")
}

func TestReportAsText(t *testing.T) {
	r := fakeReport(t)
	shape := productShape{M: 32, K: 65536, N: 48, TA: true}
	r.Products = []ProductResult{newProductResult(shape, shape.flops()/200e9, shape.flops()/80e9)}
	r.shares()
	assert.Equal(t, `machine: 2 threads, peak 400 GFLOPS (measured: a float32 matrix product of 1536^3), copy 26.9 GB/s (read and written)

Training speed

model            batch x seq  parameters  MFLOP/token  tokens/s  ms/step  GFLOPS  % of peak GEMM  peak MB  planned MB
---------------  -----------  ----------  -----------  --------  -------  ------  --------------  -------  ----------
rmt-46m          8 x 256          45.00M        164.7      2048     1000     337             84%     1000         900
transformer-49m  8 x 256          45.00M        183.0      1638     1250     300             75%     1000         900

Compared with the transformer, per token

model    transformer        time   FLOPs  time / FLOPs
-------  ---------------  ------  ------  ------------
rmt-46m  transformer-49m  0.800x  0.900x         0.889

Compared with torch 9

model    implementation  tokens/s  ms/step  % of peak GEMM  peak MB  speedup  activation memory
-------  --------------  --------  -------  --------------  -------  -------  -----------------
rmt-46m  Residua             2048     1000             84%     1020
         PyTorch eager        585     3500             24%     4020    3.50x              0.09x
         torch.compile       1138     1800             47%     1720    1.80x              0.30x

speedup, activation memory: Residua's over that implementation's, where activation memory is the peak less 16 bytes a parameter
(weight, gradient, AdamW's moments); Residua's step clips the gradient, the others' do not

Matrix products

M x K x N           GFLOPS  % of peak GEMM  PyTorch's GFLOPS  speedup
------------------  ------  --------------  ----------------  -------
TN 32 x 65536 x 48     200             50%                80    2.50x

N: an operand as it is, T: stored transposed
`, r.String())
}

func TestPicture(t *testing.T) {
	r := fakeReport(t)
	b := r.Picture()
	ours := r.PyTorch[0].Residua.GFLOPS
	assert.Equal(t, []figure.BarSeries{{Name: "Residua", Values: []float64{ours}}, {Name: "torch.compile", Values: []float64{r.PyTorch[0].Baselines[1].GFLOPS}},
		{Name: "PyTorch eager", Values: []float64{r.PyTorch[0].Baselines[0].GFLOPS}}}, b.Series)
	assert.InEpsilon(t, ours/1.8, b.Series[1].Values[0], 1e-12)
	require.NoError(t, figure.Check(b))
	r.PyTorch = nil
	b = r.Picture()
	assert.Len(t, b.Values, 2)
	require.NoError(t, figure.Check(b))
}

// String returns the machine and the tables as text.
func (r *Report) String() string {
	text := []string{r.Machine.String()}
	for _, t := range r.Tables() {
		text = append(text, t.Text())
	}
	return strings.Join(text, "\n")
}

// TestVersions: the table names each framework's version once.
func TestVersions(t *testing.T) {
	r := fakeReport(t)
	chosen, err := Choose(models.Standard(), []string{"rmt-46m"}, Size{})
	require.NoError(t, err)
	jax := fake(45e6, 2020e6, 2.5)
	jax.facts.Version = "jax 7"
	r.PyTorch[0] = newPyTorchResult(chosen[0], fake(45e6, 1020e6, 1), []string{Eager, Compiled, jaxOnXLA}, []*worker{fake(45e6, big(4020e6), 3.5), fake(45e6, 1720e6, 1.8), jax})
	table := r.pytorchTable()
	assert.Equal(t, "Compared with torch 9, jax 7", table.Title)
	assert.Equal(t, []string{"", "JAX", "819", "2500", "34%", "2020", "2.50x", "0.23x"}, table.Rows[3])
	assert.Equal(t, "JAX", r.Picture().Series[3].Name)
}
