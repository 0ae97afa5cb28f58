//go:build !cuda

package models_test

// devices returns none, because this build has only the CPU.
func devices() []referenceDevice { return nil }
