//go:build cuda

package cuda

import (
	"testing"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTimed: a launch takes time on the device's clock; an error of f is returned.
func TestTimed(t *testing.T) {
	d := testDevice(t)
	x, err := d.Alloc(F32, 1<<16)
	require.NoError(t, err)
	defer d.Free(x)
	took, err := d.Timed(func() error { return d.Launch("fill_f32", Over(x.N, 256), x, Float(1), Long(x.N)) })
	require.NoError(t, err)
	assert.Positive(t, took)
	_, err = d.Timed(func() error { return errors.New("no") })
	require.EqualError(t, err, "no")
}
