package checkpoint

import (
	"bytes"
	"testing"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/require"
)

// TestDeferred checks that tensors that are read only when they are written make the same file,
// with one of them in memory at a time, and that a failed read is an error that names the tensor.
func TestDeferred(t *testing.T) {
	shared := make([]float32, 6)
	deferred := func(fail string) (all []Tensor) {
		for _, x := range smallModel() {
			values := x.Data.([]float32)
			all = append(all, Tensor{x.Name, x.Shape, Deferred{len(values), func() ([]float32, error) {
				if x.Name == fail {
					return nil, errors.New("gone")
				}
				return shared[:copy(shared, values)], nil
			}}})
		}
		return all
	}
	config := map[string]string{MetadataConfig: smallConfig, "note": "é\n"}
	var out bytes.Buffer
	require.NoError(t, encodeModel(&out, deferred(""), config))
	require.Equal(t, modelBytes(t), out.Bytes())
	require.ErrorContains(t, encodeModel(&out, deferred("embedding"), config), `tensor "embedding": gone`)

	short := deferred("")
	short[1].Data = Deferred{4, func() ([]float32, error) { return shared[:3], nil }}
	require.ErrorContains(t, encodeModel(&out, short, config), "want 4 elements, got 3")
	short[1].Data = Deferred{3, nil}
	require.ErrorContains(t, encodeModel(&out, short, config), "has 4 elements, Data has 3")
}
