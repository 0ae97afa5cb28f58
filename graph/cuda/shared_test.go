//go:build cuda

package cuda

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestStaticSharedMemoryIsAskedFor: if a kernel's static and dynamic shared memory exceed 48 KB
// together, its limit is raised before its launch, even if each of them is smaller.
func TestStaticSharedMemoryIsAskedFor(t *testing.T) {
	d := testDevice(t)
	asked := 0
	for _, k := range d.kernels {
		require.NoError(t, k.load(), k.name)
		if k.static == 0 && k.shared == 0 {
			continue
		}
		assert.Equal(t, k.shared, k.static, "%s: modules.go and the driver", k.name)
		asked++
		k.allowed = 0
		bytes := 48<<10 - k.static/2
		require.NoError(t, k.allowShared(bytes), k.name)
		assert.Equal(t, bytes, k.allowed, k.name)
	}
	assert.Positive(t, asked)
}
