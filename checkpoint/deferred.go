package checkpoint

import "github.com/pkg/errors"

// Deferred is the Data of a tensor of float32 that does not have to be in memory before it is
// written. Read returns its elements, row-major; they must stay as they are only until the next
// tensor is read. Writing a checkpoint calls Read twice, once for the digest: both times it must
// return the same.
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
