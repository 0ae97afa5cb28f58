//go:build cuda

package graph

import (
	"fmt"
	"testing"

	"gorgonia.org/gorgonia"
)

// streamShape are the sizes of a matrix stream and how many keys read it or write to it.
type streamShape struct{ tokens, dk, dv, m int }

func (s streamShape) x() []int    { return []int{s.tokens, s.dk, s.dv} }
func (s streamShape) keys() []int { return []int{s.m, s.dk} }

// deviceStreamShapes are sizes that the kernels divide differently among blocks than the
// small ones of opCases.
func deviceStreamShapes() map[string]streamShape {
	return map[string]streamShape{
		"whole tiles":                  {9, 32, 32, 16},
		"rmt-206m heads":               {5, 48, 64, 42},
		"rmt-305m features":            {6, 64, 64, 16},
		"parts of tiles":               {7, 21, 24, 5},
		"two slabs":                    {5, 72, 64, 19},
		"two parts of the keys":        {5, 32, 64, 70},
		"slabs of one tile":            {2, 40, 256, 17},
		"keys that fill shared memory": {1, 900, 64, 33},
		"rows that fit no block":       {2, 3, 264, 4},
		"keys that fit no block":       {2, 5, 8, 1500},
	}
}

// normReadTwice reads with two norms, so that the first one's gradient takes over that of
// the second.
func (s streamShape) normReadTwice(o NormOptions) opCase {
	return opCase{name: "NormRead " + o.kind().String(), floats: [][]int{s.x(), s.x()[1:], s.keys(), s.x()[1:], s.keys()},
		build: func(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
			return b.Add(b.NormRead(x[0], x[1], x[2], o), b.NormRead(x[0], x[3], x[4], o))
		}}
}

func (s streamShape) cases() []opCase {
	return []opCase{
		s.normReadTwice(NormOptions{}),
		s.normReadTwice(NormOptions{RMS: true}),
		{name: "Read", floats: [][]int{s.x(), s.keys()},
			build: func(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return b.Read(x[0], x[1]) }},
		{name: "Write", floats: [][]int{s.x(), s.keys(), {s.tokens, s.m, s.dv}},
			build: func(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return b.Write(x[0], x[1], x[2]) }},
		{name: "Store", floats: [][]int{{s.tokens, s.m, s.dv}, s.keys()},
			build: func(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return b.Write(nil, x[1], x[0]) }},
	}
}

// TestDeviceStream compares reads and writes of all Primitives of sizes with the CPU.
func TestDeviceStream(t *testing.T) {
	if testing.Short() {
		t.Skip("large matrices on the emulator")
	}
	for name, shape := range deviceStreamShapes() {
		for _, c := range shape.cases() {
			t.Run(fmt.Sprintf("%s/%s", name, c.name), func(t *testing.T) { checkInAllPrecisions(t, c) })
		}
	}
}

// TestDeviceNorm has rows that one warp, several warps and only loops can hold, and so
// many of them that several blocks share the gradients of the gain and the bias.
func TestDeviceNorm(t *testing.T) {
	if testing.Short() {
		t.Skip("long rows on the emulator")
	}
	for _, s := range []normShape{{70, 64, 0}, {21, 300, 0}, {5, 1500, 0}, {3, 4096, 0}, {3, 8200, 0}, {2, 4500, 3}, {9, 48, 3}} {
		for _, rms := range []bool{false, true} {
			c := s.normTwice(NormOptions{Groups: s.groups, RMS: rms})
			t.Run(fmt.Sprintf("%d rows of %d, %s", s.rows, s.width, c.name), func(t *testing.T) { checkInAllPrecisions(t, c) })
		}
	}
}

// normShape are rows of groups (0: one) times width entries.
type normShape struct{ rows, width, groups int }

// normTwice normalises twice, so that the first norm's gradient takes over that of the
// second; the second one has a bias.
func (s normShape) normTwice(o NormOptions) opCase {
	gain := []int{s.width}
	if s.groups > 0 {
		gain = []int{s.groups, s.width}
	}
	x := append([]int{s.rows}, gain...)
	return opCase{name: o.kind().String(), floats: [][]int{x, gain, gain, gain},
		build: func(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
			biased := o
			biased.Bias = x[3]
			return b.Add(b.Norm(x[0], x[1], o), b.Norm(x[0], x[2], biased))
		}}
}

// TestDeviceNormOfLargeMean has entries whose mean is far larger than their deviation: the
// normalised ones are right to the last digits all the same.
func TestDeviceNormOfLargeMean(t *testing.T) {
	s := streamShape{3, 16, 16, 4}
	shifted := func(b *Builder, x *gorgonia.Node) *gorgonia.Node {
		half := b.Sigmoid(b.Scale(x, 0))
		return b.Add(x, b.Scale(half, 6000))
	}
	for _, c := range []opCase{
		{name: "Norm", floats: [][]int{s.x(), s.x()[1:]},
			build: func(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				return b.Norm(shifted(b, x[0]), x[1], NormOptions{})
			}},
		{name: "NormRead", floats: [][]int{s.x(), s.x()[1:], s.keys()},
			build: func(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				return b.NormRead(shifted(b, x[0]), x[1], x[2], NormOptions{})
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := newProbe(t, c, Options{Threads: 1}, true)
			want.run(t, RunOptions{})
			got := newProbe(t, c, Options{Device: CUDA, Precision: FP32}, true)
			got.run(t, RunOptions{})
			requireClose(t, want.tensors(t), got.tensors(t), 1e-5)
		})
	}
}

func checkInAllPrecisions(t *testing.T, c opCase) {
	want := newProbe(t, c, Options{Threads: 1}, true)
	want.run(t, RunOptions{})
	for precision, tolerance := range deviceTolerances() {
		t.Run(string(precision), func(t *testing.T) {
			checkOnDevice(t, c, want, Options{Device: CUDA, Precision: precision}, false, tolerance)
		})
	}
}
