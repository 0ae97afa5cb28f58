// Command vecgen writes the functions over rows of package kernel: assembly for each instruction
// set and the Go functions that choose between them (declare.go). Each function is a routine
// (routine.go), a listing in gelu.go, norm.go, softmax.go and other files, or made from a formula
// (formula.go, lower.go), of which it also writes a loop in Go (loops.go) and CUDA C (device.go).
// It writes into the current directory and ../cuda; see the go:generate line in package kernel.
package main

import "github.com/residua-go/residua/graph/kernel/internal/asm"

func main() {
	asm.Main(func() (asm.Files, error) { return generate("internal/formula") })
}
