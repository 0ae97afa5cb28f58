//go:build cuda

package cuda

import (
	"github.com/pkg/errors"
	"gorgonia.org/cu"
)

// Multiprocessors returns the number of the GPU's multiprocessors. If each block of a grid handles
// many pieces of work, the grid should have as many blocks as run at once.
func (d *Device) Multiprocessors() (int, error) {
	return d.attribute(cu.MultiprocessorCount, "multiprocessors")
}

// SharedMemory returns the bytes of shared memory that a multiprocessor divides among its blocks.
func (d *Device) SharedMemory() (int, error) {
	return d.attribute(cu.SharedMemory, "shared memory")
}

func (d *Device) attribute(a cu.DeviceAttribute, name string) (int, error) {
	values, err := d.device.Attributes(a)
	if err != nil {
		return 0, errors.Wrapf(err, "%s: %s", d.name, name)
	}
	return values[0], nil
}
