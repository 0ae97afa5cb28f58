package models_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/optim"
)

// recordedStep returns the work that a training step of a model asks of a GPU whose multiprocessors
// have the given shared memory, in bytes.
func recordedStep(t *testing.T, spec models.Spec, batch int, precision graph.Precision, shared int) []cuda.Work {
	r := cuda.NewRecorder(precision, 132)
	r.Shared = shared
	o := graph.ProgramOptions{Gradients: true, Options: graph.Options{Training: true}}
	recording, err := models.Record(spec, batch, spec.Seq, models.Outputs{Loss: true}, o, r)
	require.NoError(t, err)
	update, err := optim.New(recording.Store, 1)
	require.NoError(t, err)
	defer update.Close()
	_, err = update.Step(1)
	require.NoError(t, err)
	work := r.Take()
	for _, op := range recording.Ops {
		work = append(work, op.Work...)
	}
	return work
}

// launchPresets returns all presets and precisions; unless all tests run, two blocks of each preset
// in one precision.
func launchPresets(t *testing.T) (map[string]models.Spec, []graph.Precision) {
	all, precisions := map[string]models.Spec{}, graph.Precisions()
	if !longtest.Exhaustive() {
		precisions = []graph.Precision{graph.BF16}
	}
	for _, p := range models.Standard().Presets() {
		if !longtest.Exhaustive() {
			short := p.Config
			short.Layers = min(short.Layers, 2)
			short.LoopEnd = min(short.LoopEnd, short.Layers)
			if _, err := short.Resolve(); err == nil { // otherwise it needs more layers
				p.Config = short
			}
		}
		all[p.Name] = modeltest.Resolve(t, p.Config)
	}
	return all, precisions
}

// TestLaunchesSuitEveryGPU: every kernel of every preset's training step, in every precision, has a
// grid, threads and shared memory that GPUs of every compute capability allow. The rows and first
// elements of the operands of every matrix product lie at multiples of 16 bytes, so that tensor
// cores can read them; the exceptions are small products with the numbers of coefficients that the
// preset lists in odd_sides.
func TestLaunchesSuitEveryGPU(t *testing.T) {
	presets, precisions := launchPresets(t)
	rows := presetRows(t)
	for name, c := range presets {
		for _, precision := range precisions {
			for _, a := range cuda.Architectures() {
				for _, w := range recordedStep(t, c, 32, precision, a.Shared+1<<10) {
					if w.Kernel != "" {
						require.NoError(t, a.Check(w.Kernel, w.Grid), "%s, %s", name, precision)
					}
				}
			}
			flops, odd := 0, 0
			for _, w := range recordedStep(t, c, 32, precision, 228<<10) {
				if w.Product == nil {
					continue
				}
				g := *w.Product
				flops += g.FLOPs()
				if operands := g.Misaligned(); operands != nil {
					side := min(g.M, g.N, g.K)
					odd += g.FLOPs()
					assert.Contains(t, rows[name].OddSides, side, "%s, %s: %v of %s", name, precision, operands, describe(g))
				}
			}
			if odd > 0 {
				t.Logf("%s, %s: %.2f%% of the products' FLOPs are of odd sides", name, precision, 100*float64(odd)/float64(flops))
			}
		}
	}
}

func describe(g cuda.Gemm) string {
	return fmt.Sprintf("[%d, %d] x [%d, %d], rows of %d, %d and %d in memory", g.M, g.K, g.K, g.N, g.LDA, g.LDB, g.LDC)
}
