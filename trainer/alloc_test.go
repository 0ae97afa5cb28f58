package trainer

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/stream"
)

// Bounds on what a step may allocate. The tape machine makes about four small objects for each node
// in each run; our own code makes none.
const (
	bytesPerNode = 100
	bytesPerStep = 8 << 10 // whatever the size: batches, metrics, schedules
	measured     = 20
)

// TestStepAllocations bounds the bytes that a step allocates by the number of nodes in its graph,
// and requires that twenty steps cause no garbage collection.
func TestStepAllocations(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.txt")
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("some text to learn from. ", 400)), 0o644))
	run, _, err := runconfig.Parse(models.Standard(), "tiny.yaml", []byte(`
model: {stream: {kind: matrix, dk: 8, dv: 16, rank: 4}, feedforward: {kind: gelu, hidden: 64}, layers: 4, seq: 32}
data: {source: files, split: none}
train: {batch: 4, accumulate: 2, steps: 100, lr: 1e-3}
`), []string{"data.path=[" + text + "]", "out=" + filepath.Join(dir, "run")})
	require.NoError(t, err)
	tr, err := Open(context.Background(), run, Options{Resume: ResumeNone})
	require.NoError(t, err)
	defer tr.Close()
	step := func() {
		_, err := tr.trainStep(context.Background())
		require.NoError(t, err)
	}
	for range 3 {
		step()
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range measured {
		step()
	}
	runtime.ReadMemStats(&after)
	runs := run.Train.Accumulate * tr.learner.Program().Nodes()
	require.LessOrEqual(t, int(after.TotalAlloc-before.TotalAlloc)/measured, bytesPerNode*runs+bytesPerStep, "%d node runs a step", runs)
	require.Zero(t, after.NumGC-before.NumGC, "garbage collections over %d steps", measured)
}

// TestCompileTime: a graph of 24 layers compiles in under a second.
func TestCompileTime(t *testing.T) {
	for _, d := range []stream.Design{stream.MatrixConfig{Dk: 8, Dv: 8, Rank: 2}, stream.VectorConfig{}} {
		c := models.Transformer(24, 16, 16, 2).OnStream(d)
		if d.Shape().Heads > 0 { // of its own
			c.Attention.Heads = 0
		}
		c.Vocab, c.Seq = 50, 16
		spec, err := c.Resolve()
		require.NoError(t, err)
		t.Run(d.Name(), func(t *testing.T) {
			best := time.Hour // of a few: the machine may be busy
			for range 3 {
				began := time.Now()
				p, err := models.Compile(spec, 2, c.Seq, models.Outputs{Loss: true}, graph.ProgramOptions{Gradients: true})
				require.NoError(t, err)
				best = min(best, time.Since(began))
				t.Logf("%d nodes in %v", p.Nodes(), best)
				p.Close()
			}
			require.Less(t, best, time.Second)
		})
	}
}
