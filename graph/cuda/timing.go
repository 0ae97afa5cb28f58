//go:build cuda

package cuda

import (
	"time"

	"github.com/pkg/errors"
	"gorgonia.org/cu"
)

// Timed returns how long the device takes for what f starts, measured by events before and after
// it. It waits for the device.
func (d *Device) Timed(f func() error) (took time.Duration, err error) {
	if d.recording() {
		return 0, errors.WithStack(errRecording)
	}
	err = d.within(func() error {
		start, err := cu.NewEvent()
		if err != nil {
			return err
		}
		defer func() { _ = start.Destroy() }()
		end, err := cu.NewEvent()
		if err != nil {
			return err
		}
		defer func() { _ = end.Destroy() }()
		if err := start.Record(cu.NoStream); err != nil {
			return err
		}
		if err := f(); err != nil {
			return err
		}
		if err := end.Record(cu.NoStream); err != nil {
			return err
		}
		if err := end.Synchronize(); err != nil {
			return err
		}
		took, err = cu.Elapsed(start, end)
		return err
	})
	return took, err
}
