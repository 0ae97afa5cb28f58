//go:build cuda

package graph_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/cuda/emulator"
	"github.com/residua-go/residua/optim"
)

// TestDeviceProfile: for one step, the profile has the kernel launches, bytes and FLOPs that a
// recorder notes, and the kernels' times sum to those of the ops and of the step. A step that is
// not profiled records no events.
func TestDeviceProfile(t *testing.T) {
	for _, precision := range []graph.Precision{graph.FP32, graph.BF16} {
		p := profiled(t, graph.ProgramOptions{Options: graph.Options{Device: graph.CUDA, Precision: precision}})
		o, err := optim.New(p.Store(), 1, optim.Clip(1))
		require.NoError(t, err)
		t.Cleanup(func() {
			o.Close()
			p.Close()
			require.NoError(t, p.Store().Close())
		})
		step := func(profile bool) time.Duration {
			begin := time.Now()
			require.NoError(t, p.Run(graph.RunOptions{Profile: profile}))
			_, err := graph.Scalar(p.Roots().Loss)
			require.NoError(t, err)
			_, err = o.Step(1)
			require.NoError(t, err)
			took := time.Since(begin)
			require.NoError(t, p.EndProfile())
			return took
		}
		step(false)
		emulator.ResetCounters()
		step(false)
		require.Zero(t, emulator.Counters().Events)
		require.Empty(t, p.Kernels())
		took := step(true)
		requireRecorded(t, p, precision)
		requireTimes(t, p, took)
		before := p.Kernels()
		step(false)
		require.Equal(t, before, p.Kernels())
	}
}

// requireRecorded compares a profile of one step with a recording.
func requireRecorded(t *testing.T, p *graph.Program, precision graph.Precision) {
	d, err := cuda.Open(cuda.Options{Precision: precision})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	multiprocessors, err := d.Multiprocessors()
	require.NoError(t, err)
	r := cuda.NewRecorder(precision, multiprocessors)
	recording, err := graph.Record(graph.ProgramOptions{Gradients: true}, r, profiledGraph)
	require.NoError(t, err)
	o, err := optim.New(recording.Store, 1, optim.Clip(1))
	require.NoError(t, err)
	defer o.Close()
	r.Take() // its tables
	_, err = o.Step(1)
	require.NoError(t, err)

	want, ops := map[string]graph.KernelProfile{}, []string(nil)
	for _, op := range append(recording.Ops, graph.RecordedOp{Work: r.Take()}) {
		work := slices.DeleteFunc(op.Work, func(w cuda.Work) bool { return w.Copy == cuda.CopyUp || w.Copy == cuda.CopyDown }) // made by Gorgonia, and the loss
		for _, w := range work {
			k := want[w.String()]
			k.Name = w.String()
			k.Launches++
			k.Bytes += w.Bytes
			if w.Product != nil {
				k.FLOPs += w.Product.FLOPs()
			}
			want[k.Name] = k
		}
		if len(work) > 0 && op.OpType != "" {
			ops = append(ops, op.OpType)
		}
	}
	got := map[string]graph.KernelProfile{}
	for _, k := range p.Kernels() {
		assert.Positive(t, k.Seconds, k.Name)
		if k.Seconds = 0; k.Name != "between ops" && k.Name != "copy: device to host" {
			got[k.Name] = k
		}
	}
	assert.Equal(t, want, got)
	assert.Contains(t, got, "adamw_update")
	assert.Contains(t, got, "12 x 5 x 8 "+precision.Activation().String()+", B transposed")
	var timed []string
	for _, row := range p.Profile() {
		if row.OpType != graph.TapeMachine && row.Seconds > 0 {
			timed = append(timed, row.OpType)
		}
	}
	assert.Equal(t, ops, timed, "the ops that ask for work")
}

// requireTimes: each op's time is the sum of its kernels' times, and all together are the step's
// time.
func requireTimes(t *testing.T, p *graph.Program, step time.Duration) {
	all, ofOps := 0.0, 0.0
	for _, k := range p.Kernels() {
		all += k.Seconds
		if k.Name != "between ops" && k.Name != "copy: device to host" && !strings.HasPrefix(k.Name, "adamw") {
			ofOps += k.Seconds
		}
	}
	rows := p.Profile()
	for _, row := range rows[:len(rows)-1] {
		ofOps -= row.Seconds
	}
	assert.InDelta(t, 0, ofOps, 1e-9)
	assert.Positive(t, rows[len(rows)-1].Seconds, "the tape machine's is what is left")
	assert.LessOrEqual(t, all, step.Seconds())
	assert.Greater(t, all, step.Seconds()/2)
}
