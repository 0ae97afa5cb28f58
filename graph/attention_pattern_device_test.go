//go:build cuda

package graph

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph/cuda"
)

// TestDevicePattern compares a pattern of more keys than a block has threads, of heads that
// fill no whole pieces, and what is mixed by it, with the CPU's. In precision bf16 the
// pattern is kept in 32 bits.
func TestDevicePattern(t *testing.T) {
	for _, s := range []attentionShape{
		{batch: 1, seq: 290, heads: 2, dim: 20, slopes: true, rope: true, starts: true},
		{batch: 2, seq: 33, heads: 1, dim: 7},
	} {
		t.Run(s.String(), func(t *testing.T) {
			c := s.opCase()
			c.build = func(b *Builder, x, ids gorgonia.Nodes) *gorgonia.Node {
				o := s.options()
				if s.starts {
					o.Starts = ids[0]
				}
				p := b.AttentionPattern(x[0], o)
				if b.onDevice() {
					require.Equal(t, cuda.F32, opOf(p).storage())
				}
				return b.AttentionMix(p, x[0], o)
			}
			want := newProbe(t, c, Options{Threads: 1}, true)
			want.run(t, RunOptions{})
			for precision, tolerance := range deviceTolerances() {
				t.Run(string(precision), func(t *testing.T) {
					checkOnDevice(t, c, want, Options{Device: CUDA, Precision: precision}, false, tolerance)
				})
			}
		})
	}
}
