package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/models"
)

// fake is a process that has measured these times.
func fake(parameters, peak int, seconds ...float64) *process {
	return &process{name: "fake", facts: facts{Parameters: parameters, Predicted: 900e6, Version: "torch 9"}, seconds: seconds, peak: peak}
}

// fakeReport is a report of made-up measurements of the smallest paper size: the RMT
// takes 1 s a step, the transformer 1.25 s.
func fakeReport(t *testing.T) *report {
	chosen, err := choose(models.Standard(), "rmt-46m,transformer-49m")
	require.NoError(t, err)
	r := &report{Machine: &machine{Threads: 2, PeakGFLOPS: 400, CopyGBs: 26.94}}
	for i, seconds := range []float64{1, 1.25} {
		m := newModelResult(chosen[i], fake(45e6, 1000e6, seconds, 9, seconds-0.5, seconds, seconds))
		m.Share = m.GFLOPS / r.Machine.PeakGFLOPS
		r.Models = append(r.Models, m)
	}
	r.Sizes = compareSizes(chosen, r.Models)
	p, err := newPyTorchResult(chosen[0], fake(45e6, 1020e6, 1), []string{eager, compiled}, []*process{fake(45e6, 4020e6, 3.5), fake(45e6, 1720e6, 1.8)})
	require.NoError(t, err)
	r.PyTorch = []pytorchResult{p}
	return r
}

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
	rivals := r.PyTorch[0].Rivals
	assert.Equal(t, []float64{3.5, 1.8}, []float64{rivals[0].Speedup, rivals[1].Speedup})
	assert.InEpsilon(t, 300.0/3300, rivals[0].Memory, 1e-12, "beyond 16 bytes for each of 45M parameters")
	assert.InEpsilon(t, 300.0/1000, rivals[1].Memory, 1e-12)
}

// TestSizesAreComparedATokenEach: rows of another number do not change the ratio.
func TestSizesAreComparedATokenEach(t *testing.T) {
	chosen, err := choose(models.Standard(), "byte-rmt,byte-transformer")
	require.NoError(t, err)
	chosen[0].Batch *= 2
	results := []modelResult{newModelResult(chosen[0], fake(1, 1, 2)), newModelResult(chosen[1], fake(1, 1, 1))}
	assert.InEpsilon(t, 1.0, compareSizes(chosen, results)[0].Time, 1e-12)
	assert.Empty(t, compareSizes(chosen, results[:1]), "a model without its partner")
}

func TestReportAsText(t *testing.T) {
	r := fakeReport(t)
	chosen, err := choose(models.Standard(), "rmt-46m")
	require.NoError(t, err)
	r.Scaling = []scalingResult{newScalingResult(chosen[0], 2, fake(1, 1, 1.9), fake(1, 1, 1))}
	small, err := stockWorkload()
	require.NoError(t, err)
	besideStock, err := newStockResult(small, fake(7, 0, 0.002), fake(7, 0, 0.09))
	require.NoError(t, err)
	r.Stock = []stockResult{besideStock}
	shape := gemmShape{M: 32, K: 65536, N: 48, TA: true}
	r.Gemm = []gemmResult{newGemmResult(shape, shape.flops()/200e9, shape.flops()/80e9)}
	r.Gemm[0].Share = 0.5
	assert.Equal(t, `machine: 2 threads, 400 GFLOPS (float32, our product of 1536^3), copy 26.9 GB/s (read and written)

training         batch x seq  parameters  MFLOP a token  tokens/s  ms a step  GFLOPS  of peak  peak MB  planned MB
rmt-46m          8 x 256          45.00M          164.7      2048       1000     337      84%     1000         900
transformer-49m  8 x 256          45.00M          183.0      1638       1250     300      75%     1000         900

model : transformer         time  FLOPs  time/FLOPs
rmt-46m : transformer-49m  0.800  0.900       0.889

torch 9           tokens/s  ms a step  ours is  peak MB  our memory
rmt-46m  ours         2048       1000              1020
         eager         585       3500    3.50x     4020       0.09x
         compile      1138       1800    1.80x     1720       0.30x
our memory: the peak beyond 16 bytes a parameter (weight, gradient, moments) over theirs; PyTorch's step does not clip, ours does

threads  1: ms a step  2: ms a step  speedup
rmt-46m          1900          1000    1.90x

stock Gorgonia     batch x seq         tokens/s  ms a step  ours is  peak MB
small-transformer  4 x 32       ours      64000       2.00                 -
                                stock      1422      90.00    45.0x        -

product, M x K x N  GFLOPS  of peak  PyTorch  ours is
TN 32 x 65536 x 48     200      50%       80    2.50x
`, r.String())
}

func TestSpeedChart(t *testing.T) {
	r := fakeReport(t)
	c := speedChart(r)
	assert.Equal(t, []string{"Residua", "torch.compile", "PyTorch eager"}, c.Series)
	require.Len(t, c.Rows, 1)
	assert.InEpsilonSlice(t, []float64{r.PyTorch[0].Ours.GFLOPS, r.PyTorch[0].Ours.GFLOPS / 1.8, r.PyTorch[0].Ours.GFLOPS / 3.5}, c.Rows[0].Values, 1e-12)
	r.PyTorch = nil
	c = speedChart(r)
	assert.Len(t, c.Rows, 2)
	var picture bytes.Buffer
	require.NoError(t, c.Write(&picture))
}

func TestMedian(t *testing.T) {
	assert.Equal(t, 2.0, median([]float64{9, 1, 2}))
	assert.Equal(t, 1.5, median([]float64{2, 1}))
	assert.Zero(t, median(nil))
}
