package pretrained

import (
	"slices"
	"strings"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

// headOrder returns, for each entry of our heads of queries and keys, its place in a head of
// Hugging Face's and llama.cpp's files; nil if it is the same. Where a part of a head has rotary
// positions, its r entries come first in the files, with the pairs (i, i + r/2), and those without
// follow. In ours all pairs are (i, i + Dh/2), and the pairs that rotate come first. Products of
// queries and keys do not depend on the order.
// Swapped halves turn positions the other way round.
func (a Architecture) headOrder(spec models.Spec) []int {
	if spec.Attention.RopePart == 0 && !a.SwapHalves {
		return nil
	}
	half, rotated := spec.HeadDim()/2, layers.RotatedPairs(spec.Attention.RopePart, spec.HeadDim())
	order := make([]int, spec.HeadDim())
	if a.SwapHalves {
		for i := range order {
			order[i] = (i + half) % len(order)
		}
		return order
	}
	for i := range half {
		order[i], order[half+i] = i, rotated+i
		if i >= rotated {
			order[i], order[half+i] = rotated+i, half+i
		}
	}
	if last := spec.HeadDim() - 1; spec.HeadDim()%2 == 1 {
		order[last] = last
	}
	return order
}

// reordered returns a parameter with the entries of its heads in another order: entry order[i] of a
// head becomes entry i or, back, the reverse. Parameters without queries and keys stay as they are.
func (l layout) reordered(name string, x []float32, back bool) []float32 {
	dim, width, heads := len(l.order), len(x), 0
	switch {
	case dim == 0:
		return x
	case strings.HasSuffix(name, ".attention.qkv"), strings.HasSuffix(name, ".attention.qkv_bias"):
		width, heads = l.sizes['A'], l.sizes['H']+l.sizes['G']
	case strings.HasSuffix(name, ".attention.q_norm"), strings.HasSuffix(name, ".attention.k_norm"):
		heads = len(x) / dim
	}
	if heads == 0 {
		return x
	}
	y := slices.Clone(x)
	for row := 0; row < len(x); row += width {
		for head := row; head < row+heads*dim; head += dim {
			for i, at := range l.order {
				if back {
					y[head+at] = x[head+i]
				} else {
					y[head+i] = x[head+at]
				}
			}
		}
	}
	return y
}
