// Package fuzztest bounds what reading an input may take, for fuzz targets.
package fuzztest

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	perByte = 16       // bytes that a reader may allocate for each byte of its input
	besides = 64 << 20 // bytes that it may allocate besides
)

// most is the longest time to read an input.
const most = time.Second

// Bounded calls read, which reads an input of the given size. It fails the test if that allocates
// more than 16 bytes a byte and 64 MB, or takes longer than a second three times in a row.
func Bounded(t testing.TB, size int, read func()) {
	t.Helper()
	var took time.Duration
	for range 3 { // another process may have had the processor
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		read()
		took = time.Since(began)
		runtime.ReadMemStats(&after)
		require.LessOrEqual(t, after.TotalAlloc-before.TotalAlloc, uint64(perByte*size+besides), "bytes allocated to read %d bytes", size)
		if took <= most {
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

// OneLine fails the test if an error's text has several lines, which a message for a user has not.
func OneLine(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		require.NotContains(t, err.Error(), "\n")
	}
}
