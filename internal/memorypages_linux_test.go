package internal_test

import (
	"bytes"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"github.com/residua-go/residua/internal/memory"
)

// TestLargePages: the content of the memory, and of the memory around it, stays the same.
func TestLargePages(t *testing.T) {
	all := bytes.Repeat([]byte{7, 11, 13}, 5<<20)
	want := bytes.Clone(all)
	for _, part := range [][]byte{all, all[1<<20 : 6<<20], all[:100], all[:0]} {
		memory.LargePages(unsafe.Pointer(unsafe.SliceData(part)), len(part))
		assert.True(t, bytes.Equal(want, all), "%d bytes", len(part))
	}
}
