package figure

import (
	"cmp"
	"slices"
)

// Largest returns the n largest items, the largest first, for a table or a figure that has
// room for no more. Items of the same size keep their order.
func Largest[T any](all []T, n int, size func(T) float64) []T {
	sorted := slices.SortedStableFunc(slices.Values(all), func(a, b T) int { return cmp.Compare(size(b), size(a)) })
	return sorted[:max(0, min(n, len(sorted)))]
}
