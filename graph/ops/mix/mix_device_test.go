//go:build cuda

package mix

import (
	"testing"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/optest"
)

// TestDeviceMixOfManyTokens has enough tokens that several blocks, each with several tokens, share
// the gradient of one C for all tokens, both for a small stream and for one of any size.
func TestDeviceMixOfManyTokens(t *testing.T) {
	if testing.Short() {
		t.Skip("many tokens on the emulator")
	}
	for _, s := range []mixShape{{2*tileBlocks + 5, 9, 1, 3}, {1003, 2, 1, 4}} {
		for _, c := range s.cases(true) {
			t.Run(c.Name, func(t *testing.T) {
				want := optest.NewProbe(t, c, graph.Options{Threads: 1}, true)
				want.Run(t, graph.RunOptions{})
				optest.CheckOnDevice(t, c, want, graph.Options{Device: graph.CUDA, Precision: graph.FP32}, true, 1e-5)
			})
		}
	}
}
