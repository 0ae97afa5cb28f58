//go:build cuda

package cli

import "github.com/residua-go/residua/graph/cuda/emulator"

// prepareDevice makes the tests' device: the emulator, or a GPU where RESIDUA_GPU says so.
func prepareDevice() error { return emulator.Use() }
