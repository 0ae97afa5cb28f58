//go:build cuda

package graph

import "testing"

// TestDeviceMixOfManyTokens has so many tokens that several blocks, each with several
// tokens, share the gradient of one C for all: of a stream of any sizes, and of a small one.
func TestDeviceMixOfManyTokens(t *testing.T) {
	if testing.Short() {
		t.Skip("many tokens on the emulator")
	}
	for _, s := range []mixShape{{2*tileBlocks + 5, 9, 1, 3}, {1003, 2, 1, 4}} {
		for _, c := range s.cases(true) {
			t.Run(c.name, func(t *testing.T) {
				want := newProbe(t, c, Options{Threads: 1}, true)
				want.run(t, RunOptions{})
				checkOnDevice(t, c, want, Options{Device: CUDA, Precision: FP32}, true, 1e-5)
			})
		}
	}
}
