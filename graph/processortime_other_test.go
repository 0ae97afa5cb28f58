//go:build !unix

package graph_test

import "time"

var began = time.Now()

// processorTime returns the time that has passed, where a process's is not known.
func processorTime() time.Duration { return time.Since(began) }
