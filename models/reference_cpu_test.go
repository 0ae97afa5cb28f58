//go:build !cuda

package models_test

// devices lists none: this build has the CPU alone.
func devices() []referenceDevice { return nil }
