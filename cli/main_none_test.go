//go:build !cuda

package cli

func prepareDevice() error { return nil }
