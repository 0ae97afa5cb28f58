// Command asmgen writes the assembly of package kernel and its Go declarations: the
// float32 micro-kernels of the matrix product (microkernel.go), transposes
// (transpose.go), products (dot.go) and combinations (combine.go) of few long rows, for each instruction set (isa.go). It writes into the directory that
// it is run in; see the go:generate line of package kernel.
package main

import (
	"fmt"
	"os"
)

func main() {
	files, err := generate()
	if err == nil {
		err = save(files)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "asmgen:", err)
		os.Exit(1)
	}
}

// save writes the files into the current directory.
func save(files map[string][]byte) error {
	for name, text := range files {
		if err := os.WriteFile(name, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
