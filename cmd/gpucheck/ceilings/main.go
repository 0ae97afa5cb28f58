// Command ceilings measures on a GPU what bounds a training step: how fast the device copies, and multiplies the matrices of a
// preset's step. It is the part ceilings of experiment/gpucheck/run.sh, and wants the tag cuda.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintf(os.Stderr, "error: want ceilings PRESET BATCH PRECISION, got %q\n", os.Args[1:])
		os.Exit(2)
	}
	if err := measure(os.Args[1], os.Args[2], os.Args[3], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
