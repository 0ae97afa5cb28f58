// Command vecgen writes the vector functions of package kernel for amd64: assembly for
// each instruction set (isa.go) and the Go functions that choose between them
// (declare.go). The functions themselves are described in gelu.go, geluexact.go, norm.go, softmax.go,
// adamw.go, elementwise.go and sigmoid.go, in terms of the builder (builder.go), which knows how to
// walk along slices, mask the last vector and sum across lanes. It writes into the
// directory that it is run in; see the go:generate line of package kernel.
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
		fmt.Fprintln(os.Stderr, "vecgen:", err)
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
