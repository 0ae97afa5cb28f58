package graph

import "gorgonia.org/gorgonia"

// The functions of this file are those of free.go that read, write and mix a residual
// stream.

// Read retrieves a vector for each key from every token's matrix of a matrix stream (RMT
// paper eq. 22-23, 26):
//
//	y_t = keys X_t
//
// x [T, Dk, Dv], keys [m..., Dk], y [T, m..., Dv].
func Read(x, keys *gorgonia.Node) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.Read(x, keys) }, x, keys)
}

// Write stores a vector under each key in every token's matrix of a matrix stream (RMT
// paper eq. 18-20, 25):
//
//	X'_t = X_t + keys^T y_t
//
// x [T, Dk, Dv], or nil for an empty stream; keys [m..., Dk], y T tokens of m*Dv entries,
// X' [T, Dk, Dv].
func Write(x, keys, y *gorgonia.Node) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.Write(x, keys, y) }, x, keys, y)
}

// NormRead reads from the normalised matrix stream, which is not stored for it (RMT paper
// eq. 22-23 after the norm of section 3.2):
//
//	y_t = keys Norm(X_t)
//
// x [T, Dk, Dv], gain [Dk, Dv], keys [m..., Dk], y [T, m..., Dv]. It gives what Read gives
// of Norm with the options o, of which Bias must be nil; the norm is over all Dk*Dv entries
// of a token.
func NormRead(x, gain, keys *gorgonia.Node, o NormOptions) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.NormRead(x, gain, keys, o) }, x, gain, keys)
}

// MixRead takes the m inputs of a sublayer out of a stream of n rows a token, as all the
// designs after hyper-connections do (Zhu et al. 2024, arXiv 2409.19606, eq. 2, A_m):
//
//	u_t[j] = sum over i of down[i, j] H_t[i],   j < m
//
// Row i of the coefficients c is [down[i, 0..m) | carry[i, 0..n) | up'[i, 0..m)]; MixWrite
// takes the same c and uses the rest of it. h [T, n, d]; c [n, 2m+n] for all tokens, or
// [T, n, 2m+n], one a token; u [T, m*d].
func MixRead(h, c *gorgonia.Node, m int) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.MixRead(h, c, m) }, h, c)
}

// MixWrite makes the stream after a sublayer: its n rows mixed among themselves, plus the
// sublayer's m outputs (Zhu et al. 2024, arXiv 2409.19606, eq. 2, A_r and B):
//
//	H'_t[k] = sum over i of carry[i, k] H_t[i] + sum over j of up'[k, j] y_t[j]
//
// c holds carry and up' as in MixRead. h and H' [T, n, d]; y T tokens of m*d entries; c
// [n, 2m+n] or [T, n, 2m+n].
func MixWrite(h, y, c *gorgonia.Node, m int) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.MixWrite(h, y, c, m) }, h, y, c)
}

// Copies begins a stream of n rows a token, all equal, as hyper-connections do (Zhu et al.
// 2024, arXiv 2409.19606, algorithm 1):
//
//	H_t[i] = x_t,   i < n
//
// x [T, d...], H [T, n, d...].
func Copies(x *gorgonia.Node, n int) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.Copies(x, n) }, x)
}

// SumCopies ends a stream of n rows a token by adding them up, as hyper-connections do (Zhu
// et al. 2024, arXiv 2409.19606, algorithm 1):
//
//	y_t = sum over i of H_t[i]
//
// h [T, n, d...], y [T, d...].
func SumCopies(h *gorgonia.Node) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.SumCopies(h) }, h)
}

// NormLinear is a normalisation and a product with few columns in one pass, as the mixing
// coefficients of hyper-connections begin (Zhu et al. 2024, arXiv 2409.19606, section 2.3):
//
//	z = Norm(x) w
//
// w [width, K]; x [T, ...] is read as rows of width entries, r of them a token: with x
// [T, n, D], a w of [D, K] normalises each of the n rows (z [T, n, K]) and one of [n*D, K]
// all of them jointly (z [T, K]). gain [width], or nil for none. o's defaults are those of
// Norm; there is no bias.
func NormLinear(x, gain, w *gorgonia.Node, o NormOptions) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.NormLinear(x, gain, w, o) }, x, gain, w)
}

// TanhCoefficients makes the mixing coefficients of dynamic hyper-connections (Zhu et al.
// 2024, arXiv 2409.19606, section 2.3) and of virtual width networks:
//
//	c = static + scale * tanh(tau z)
//
// z [T, n, K], or [T, K] with n = 1; static [n, K], c [T, n, K]. scale is [n, K], an entry
// for each coefficient, or [2]: the first for the columns of read and carry, the second for
// the last column, of the write. tau > 0.
func TanhCoefficients(z, static, scale *gorgonia.Node, tau float64) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.TanhCoefficients(z, static, scale, tau) }, z, static, scale)
}

// SinkhornCoefficients makes the mixing coefficients of manifold-constrained
// hyper-connections (mHC, arXiv 2512.24880, section 4.2), whose carry of the n rows is
// nearly doubly stochastic:
//
//	zt = alpha[group] * z + bias            groups pre [n], post [n], res [n, n]
//	pre = sigmoid(zt_pre),  post = 2 sigmoid(zt_post),  H = Sinkhorn(zt_res)
//	c_i = [ pre_i | H_1i ... H_ni | post_i ]
//
// Sinkhorn divides exp(zt_res - max) by the sums of its columns, then of its rows, as often
// as iterations says. z [T, 2n + n*n], alpha [3] (pre, post, res), bias [2n + n*n], c
// [T, n, n+2].
func SinkhornCoefficients(z, alpha, bias *gorgonia.Node, n, iterations int) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.SinkhornCoefficients(z, alpha, bias, n, iterations) }, z, alpha, bias)
}

// PermutationCoefficients makes the mixing coefficients of mHC-lite (arXiv 2601.05732),
// whose carry of the n rows, 1 to 4, is a convex sum of all permutations P_r:
//
//	zt = alpha[group] * z + bias            groups pre [n], post [n], res [n!]
//	pre = sigmoid(zt_pre),  post = 2 sigmoid(zt_post)
//	H = sum over r of a_r P_r,  a = softmax(zt_res)
//	c_i = [ pre_i | H_1i ... H_ni | post_i ]
//
// Permutations are in lexicographic order, the identity first. z [T, 2n + n!], alpha [3]
// (pre, post, res), bias [2n + n!], c [T, n, n+2].
func PermutationCoefficients(z, alpha, bias *gorgonia.Node, n int) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.PermutationCoefficients(z, alpha, bias, n) }, z, alpha, bias)
}

// LSTMCell is one step of a long short-term memory's cell (Hochreiter & Schmidhuber 1997;
// the forget gate: Gers et al. 2000), with the input, forget and output gates i, f and o and
// the candidate, all given by g:
//
//	c' = sigmoid(f) o c + sigmoid(i) o candidate
//	h' = sigmoid(o) o c'
//
// c, c' and h' [T, ...], elementwise. Neither the candidate nor the output is squashed: pass
// tanh of the candidate for it.
func LSTMCell(c *gorgonia.Node, g LSTMGates) (cell, hidden *gorgonia.Node, err error) {
	hidden, err = free(func(b *Builder) *gorgonia.Node {
		state, output := b.LSTMCell(c, g)
		cell = state
		return output
	}, c)
	return cell, hidden, err
}
