//go:build !cuda

package main

import (
	"io"

	"github.com/pkg/errors"
)

func measure(string, string, string, io.Writer) error {
	return errors.New("ceilings: want a program built with -tags cuda, got one without")
}
