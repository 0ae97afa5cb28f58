// Command asmgen writes the assembly of package kernel and its Go declarations: the
// float32 micro-kernels of the matrix product (microkernel.go), transposes
// (transpose.go), products (dot.go), combinations (combine.go) and added multiples
// (axpy.go) and sums of elementwise products (sumproducts.go) of few long rows, products of a
// matrix and few vectors (gemv.go) and those of weights in fewer bits (weights.go), for each instruction set (isa.go); and for bfloat16 micro-kernels
// (pairs.go) and conversions (bfloat16.go). It writes into the directory that it is run in, as go generate of
// package kernel does.
package main

import "github.com/residua-go/residua/graph/kernel/internal/asm"

func main() { asm.Main(generate) }
