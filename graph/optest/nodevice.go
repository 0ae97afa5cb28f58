//go:build !cuda

package optest

import "testing"

// device has nothing to compare in a build without the tag cuda.
func (c Case) device(*testing.T) {}
