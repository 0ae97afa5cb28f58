//go:build cuda

package cuda

import (
	"github.com/pkg/errors"
	"gorgonia.org/cu"
)

// Multiprocessors returns how many multiprocessors the GPU has: a grid whose blocks each
// take many pieces of work has as many blocks as run at once.
func (d *Device) Multiprocessors() (int, error) {
	counts, err := d.device.Attributes(cu.MultiprocessorCount)
	if err != nil {
		return 0, errors.Wrapf(err, "%s: multiprocessors", d.name)
	}
	return counts[0], nil
}
