package pretrained

import (
	"math"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// Adopt computes a new digest for a model file whose parameters another program has changed. The
// program must have kept the metadata and the names and shapes of the tensors, and every value must
// be finite. The file is replaced as a whole; on an error it is not changed.
func Adopt(zoo models.Zoo, path string) error {
	file, err := checkpoint.ReadTensors(path)
	if err != nil {
		return err
	}
	d, err := Describe(zoo, path, file.Metadata)
	if err != nil {
		return err
	}
	store, err := Serve(d.Spec, file.Tensors)
	if err != nil {
		return errors.Wrap(err, path)
	}
	if err := finite(store); err != nil {
		return errors.Wrap(err, path)
	}
	return Save(path, store, d)
}

// Finite returns an error that names the first weight that is infinite or NaN, as in a run that
// diverged or a damaged file.
func (m *Model) Finite() error { return finite(m.Store) }

func finite(store *graph.Store) error {
	for _, p := range store.Params() {
		for i, v := range p.Value.Float32s() {
			if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
				return errors.Errorf("tensor %q: want finite values, got %g at %d", p.Name, v, i)
			}
		}
	}
	return nil
}
