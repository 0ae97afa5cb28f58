// Command vecgen writes the vector functions of package kernel for amd64: assembly for each
// instruction set and the Go functions that choose between them (declare.go). Each function is a
// routine (routine.go), described in gelu.go, norm.go, softmax.go and other files by calls of the
// builder (builder.go), which can walk along slices, mask the last vector and sum across lanes. It
// writes into the current directory; see the go:generate line in package kernel.
package main

import "github.com/residua-go/residua/graph/kernel/internal/asm"

func main() {
	asm.Main(func() (asm.Files, error) { return generate("internal/formula") })
}
