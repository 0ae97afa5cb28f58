// Package numerics holds the linear algebra and the draws of random vectors that analyses share,
// which know nothing of models: products of matrices, eigenvalues and eigenvectors of symmetric
// ones, independent component analysis.
package numerics
