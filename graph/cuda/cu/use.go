package cu

import (
	"sync/atomic"

	"github.com/pkg/errors"
)

// used is 1 plus the number of the GPU that Use chose; 0: the program sees all GPUs.
var used atomic.Int64

// Use makes GPU number n, counted among those that CUDA_VISIBLE_DEVICES shows to the program, the
// only one that NumDevices and GetDevice see, under number 0. Gorgonia's machines always take
// number 0. Choosing another GPU afterwards is an error.
func Use(n int) error {
	d, err := load()
	if err != nil {
		return err
	}
	count, err := d.count()
	if err != nil {
		return err
	}
	if n < 0 || n >= count {
		return errors.Errorf("want a GPU from 0 to %d, of those that the driver lists and CUDA_VISIBLE_DEVICES does not hide, got %d", count-1, n)
	}
	if !used.CompareAndSwap(0, int64(n)+1) && used.Load() != int64(n)+1 {
		return errors.Errorf("want GPU %d, which the program uses already, got %d", used.Load()-1, n)
	}
	return nil
}
