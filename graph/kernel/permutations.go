package kernel

// permutationMap computes the matrices of mHC-lite (arXiv 2601.05732). A token's matrix is a
// weighted mean of all n! permutation matrices, so its rows and columns sum to 1 up to rounding
// (Birkhoff and von Neumann's theorem):
//
//	a = softmax(logits),  H = sum over r of a_r P_r,  P_r[i, perm_r(i)] = 1
//
// The permutations are in the lexicographic order of (perm(0), ..., perm(n-1)).
type permutationMap[T Float] struct {
	permutations [][]int // [n!, n]
	a            []T     // [n!, gatedTokens]
	h            []T     // [n*n, gatedTokens]
}

func factorial(n int) int {
	f := 1
	for i := 2; i <= n; i++ {
		f *= i
	}
	return f
}

// permutationsOf lists the permutations of 0 to n-1 in lexicographic order.
func permutationsOf(n int) (all [][]int) {
	used := make([]bool, n)
	var extend func(begin []int)
	extend = func(begin []int) {
		if len(begin) == n {
			all = append(all, append([]int(nil), begin...))
			return
		}
		for v := range n {
			if !used[v] {
				used[v] = true
				extend(append(begin, v))
				used[v] = false
			}
		}
	}
	extend(make([]int, 0, n))
	return all
}

func (k *permutationMap[T]) forward(p path, logits []T, d StreamGatesParams) []T {
	n := d.N
	if len(k.permutations) == 0 || len(k.permutations[0]) != n {
		k.permutations = permutationsOf(n)
	}
	k.a, k.h = grow(k.a, len(logits)), grow(k.h, n*n*gatedTokens)
	copy(k.a, logits)
	softmaxEntries(p, k.a)
	clear(k.h)
	for r, permutation := range k.permutations {
		for i, j := range permutation {
			addTo(p, entryOf(k.h, i*n+j), entryOf(k.a, r))
		}
	}
	return k.h
}

// backward computes da_r, the sum of dH over P_r's ones, and dlogits = a * (da - sum of a * da).
func (k *permutationMap[T]) backward(p path, dlogits, dh []T, d StreamGatesParams) {
	var sum [gatedTokens]T
	clear(dlogits)
	for r, permutation := range k.permutations {
		da := entryOf(dlogits, r)
		for i, j := range permutation {
			addTo(p, da, entryOf(dh, i*d.N+j))
		}
		addProducts(p, sum[:], entryOf(k.a, r), da)
	}
	for r := range k.permutations {
		addMultiple(p, entryOf(dlogits, r), sum[:], -1)
	}
	multiply(p, dlogits, dlogits, k.a)
}

// softmaxEntries replaces x [entries, gatedTokens] by its softmax over the entries.
func softmaxEntries[T Float](p path, x []T) {
	entries := len(x) / gatedTokens
	var largest, sum [gatedTokens]T
	copy(largest[:], x)
	for e := 1; e < entries; e++ {
		larger(p, largest[:], entryOf(x, e))
	}
	for e := range entries {
		addMultiple(p, entryOf(x, e), largest[:], -1)
	}
	softmaxExp(p, x, 0)
	for e := range entries {
		addTo(p, sum[:], entryOf(x, e))
	}
	for t, v := range sum {
		sum[t] = 1 / v
	}
	for e := range entries {
		multiply(p, entryOf(x, e), entryOf(x, e), sum[:])
	}
}

// largerPortable computes out = max(out, x); where x is NaN the result is NaN or out.
func largerPortable[T Float](out, x []T) {
	x = x[:len(out)]
	for i, v := range x {
		out[i] = max(out[i], v)
	}
}
