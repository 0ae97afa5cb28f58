// Command asmgen writes the assembly of package kernel and its Go declarations, for each
// instruction set (isa.go). For float32 these are the micro-kernels of the matrix product
// (microkernel.go), transposes (transpose.go), products of few long rows (dot.go), their
// combinations (combine.go), added multiples (axpy.go) and sums of elementwise products
// (sumproducts.go), products of a matrix and few vectors (gemv.go), and products with weights in
// fewer bits (weights.go). For bfloat16 they are micro-kernels (pairs.go) and conversions
// (bfloat16.go). It writes into the current directory, as go generate in package kernel expects.
package main

import "github.com/residua-go/residua/graph/kernel/internal/asm"

func main() { asm.Main(generate) }
