package kernel

import (
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// guarded copies s between two memory pages without access: up to the upper one if atEnd is true,
// otherwise from the lower one on. Any access outside s ends the test with a fault.
func guarded[E any](t *testing.T, s []E, atEnd bool) []E {
	page, size := syscall.Getpagesize(), int(unsafe.Sizeof(*new(E)))
	inner := (size*len(s) + page - 1) / page * page
	memory, err := syscall.Mmap(-1, 0, inner+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Munmap(memory)) })
	require.NoError(t, syscall.Mprotect(memory[:page], syscall.PROT_NONE))
	require.NoError(t, syscall.Mprotect(memory[page+inner:], syscall.PROT_NONE))
	first := page
	if atEnd {
		first += inner - size*len(s)
	}
	if len(s) == 0 {
		return nil
	}
	g := unsafe.Slice((*E)(unsafe.Pointer(&memory[first])), len(s))
	copy(g, s)
	return g
}

// TestNoAccessOutside runs the kernels on operands next to pages without access.
func TestNoAccessOutside(t *testing.T) {
	forEachPath[float32](t, func(t *testing.T, p path) {
		for _, s := range [][3]int{{1, 1, 1}, {15, 17, 33}, {33, 131, 401}, {32, 48, 3001}, {300, 33, 80}, {7, 96, 31}, {129, 257, 65}, {13, 300, 20}} {
			for _, g := range gemmVariants(s) {
				o := makeOperands[float32](g)
				value, magnitude := o.want()
				for _, atEnd := range []bool{true, false} {
					q := *o
					q.a, q.b, q.c = guarded(t, o.a, atEnd), guarded(t, o.b, atEnd), guarded(t, o.c, atEnd)
					q.run(&Gemm[float32]{path: p}, nil)
					requireClose(t, g, q.c, value, magnitude, g.k)
				}
			}
		}
	})
}

// TestNoAccessOutsideStream does the same for the kernels over tokens.
func TestNoAccessOutsideStream(t *testing.T) {
	forEachPath[float32](t, func(t *testing.T, p path) {
		for _, s := range streamCases {
			for _, atEnd := range []bool{true, false} {
				x, keys, y := streamOperands[float32](s)
				x, keys, y = guarded(t, x, atEnd), guarded(t, keys, atEnd), guarded(t, y, atEnd)
				out := guarded(t, make([]float32, len(x)), atEnd)
				(&Write[float32]{path: p}).Run(nil, Of(out), Of(x), keys, Of(y), s.tokens, s.r, s.dk, s.dv)
				(&Write[float32]{path: p}).Run(nil, Of(x), Of(x), keys, Of(y), s.tokens, s.r, s.dk, s.dv)
				require.Equal(t, out, x)
				(&Read[float32]{path: p}).Run(nil, Of(y), keys, Of(x), s.tokens, s.r, s.dk, s.dv)
				newKeysGrad[float32](p).Run(nil, keys, Of(y), Of(x), s.tokens, s.r, s.dk, s.dv, false)
			}
		}
	})
}
