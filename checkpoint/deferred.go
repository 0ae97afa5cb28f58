package checkpoint

import "github.com/pkg/errors"

// Deferred is the Data of a tensor of float32 that is brought into memory only when it is
// written. Read returns its elements, row-major; the slice may be reused when the next tensor
// is read. Writing a checkpoint calls Read twice, once for the digest: both times it must
// return the same elements.
type Deferred struct {
	Elements int
	Read     func() ([]float32, error)
}

// loaded returns the tensor with its elements in memory.
func (t Tensor) loaded() (Tensor, error) {
	d, ok := t.Data.(Deferred)
	if !ok {
		return t, nil
	}
	data, err := d.Read()
	if err == nil && len(data) != d.Elements {
		err = errors.Errorf("want %d elements, got %d", d.Elements, len(data))
	}
	t.Data = data
	return t, err
}
