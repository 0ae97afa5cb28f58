package main

import (
	"fmt"
	"os"
)

// start runs the kernel on a connection file; with the argument check it tries out what is ours
// in it instead, and tells what does not work.
func start(argument string) {
	tables := tables()
	register(tables)
	if argument != "check" {
		runKernel(argument)
		return
	}
	failed := false
	for path := range tables {
		if err := tryImport(path); err != nil {
			fmt.Fprintf(os.Stderr, "import %q: %v\n", path, err)
			failed = true
		}
	}
	for _, c := range trials() {
		if got := c.run(); got != c.want {
			fmt.Fprintf(os.Stderr, "cell %q: want %q, got %q\n", c.cell, c.want, got)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}
