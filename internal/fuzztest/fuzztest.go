// Package fuzztest bounds what reading an input may take, for fuzz targets.
package fuzztest

import (
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	perByte = 16       // bytes that a reader may allocate for each byte of its input
	besides = 64 << 20 // bytes that it may allocate in addition
)

// most is the longest time to read an input.
const most = time.Second

// Bounded calls read, which reads an input of the given size. It fails the test if read allocates
// more than 64 MB and 16 bytes for each byte of the input. While a fuzzer runs, it also fails if
// read takes longer than a second three times in a row; in an ordinary test it does not, because
// the machine may have other work.
func Bounded(t testing.TB, size int, read func()) {
	t.Helper()
	fuzzing := flag.Lookup("test.fuzz").Value.String() != ""
	var took time.Duration
	for range 3 { // another process may have had the processor
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		read()
		took = time.Since(began)
		runtime.ReadMemStats(&after)
		require.LessOrEqual(t, after.TotalAlloc-before.TotalAlloc, uint64(perByte*size+besides), "bytes allocated to read %d bytes", size)
		if took <= most || !fuzzing {
			return
		}
	}
	require.LessOrEqual(t, took, most, "to read %d bytes", size)
}

// File returns a function that writes a file of the given name and returns its path, always the
// same. A target calls File once, because making and removing a folder takes longer than reading
// most inputs.
func File(f *testing.F, name string) func(t testing.TB, content []byte) string {
	path := filepath.Join(f.TempDir(), name)
	return func(t testing.TB, content []byte) string {
		t.Helper()
		require.NoError(t, os.WriteFile(path, content, 0o600))
		return path
	}
}

// OneLine fails the test if an error's text has several lines; a message for a user has one.
func OneLine(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		require.NotContains(t, err.Error(), "\n")
	}
}
