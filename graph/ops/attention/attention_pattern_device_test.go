//go:build cuda

package attention

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/optest"
)

// TestDevicePattern compares a pattern and its mix with those on the CPU, for more keys than a
// block has threads and for heads that fill no whole pieces. In precision bf16 the pattern is kept
// in 32 bits.
func TestDevicePattern(t *testing.T) {
	for _, s := range []attentionShape{
		{batch: 1, seq: 290, heads: 2, dim: 20, slopes: true, rope: true, starts: true},
		{batch: 2, seq: 33, heads: 1, dim: 7},
	} {
		t.Run(s.String(), func(t *testing.T) {
			c := s.opCase()
			c.Build = func(b *graph.Builder, x, ids gorgonia.Nodes) *gorgonia.Node {
				o := s.options()
				if s.starts {
					o.Starts = ids[0]
				}
				p := Pattern(b, x[0], o)
				require.Equal(t, cuda.F32, graph.StorageOf(p))
				return Mix(b, p, x[0], o)
			}
			want := optest.NewProbe(t, c, graph.Options{Threads: 1}, true)
			want.Run(t, graph.RunOptions{})
			for precision, tolerance := range optest.DeviceTolerances() {
				t.Run(string(precision), func(t *testing.T) {
					optest.CheckOnDevice(t, c, want, graph.Options{Device: graph.CUDA, Precision: precision}, false, tolerance)
				})
			}
		})
	}
}
