package checkpoint

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// shards makes a folder with tensor a in one.safetensors, b and c in two.safetensors, and the index
// given.
func shards(t *testing.T, index string) string {
	dir := t.TempDir()
	one := func(name string, value float32) Tensor { return Tensor{name, []int{1}, []float32{value}} }
	require.NoError(t, WriteTensors(filepath.Join(dir, "one.safetensors"), []Tensor{one("a", 1)}, nil))
	require.NoError(t, WriteTensors(filepath.Join(dir, "two.safetensors"), []Tensor{one("b", 2), one("c", 3)}, nil))
	require.NoError(t, WriteTensors(filepath.Join(dir, "again.safetensors"), []Tensor{one("a", 4)}, nil))
	path := filepath.Join(dir, ModelIndex)
	require.NoError(t, os.WriteFile(path, []byte(index), 0o600))
	return path
}

func TestReadSharded(t *testing.T) {
	f, err := ReadSharded(shards(t, `{"metadata":{"total_size":12},"weight_map":{"a":"one.safetensors","b":"two.safetensors","c":"two.safetensors"}}`))
	require.NoError(t, err)
	require.Len(t, f.Tensors, 3)
	for i, name := range []string{"a", "b", "c"} {
		got, err := f.Tensor(name)
		require.NoError(t, err)
		require.Equal(t, []float32{float32(i + 1)}, got.Data)
	}
}

func TestReadShardedRefuses(t *testing.T) {
	for _, c := range []struct{ index, want string }{
		{`{`, "want a JSON object with the file of each tensor in weight_map"},
		{`{"weight_map":{"a":1}}`, "want a JSON object with the file of each tensor in weight_map"},
		{`{}`, "weight_map: want the file of each tensor, got nothing"},
		{`{"weight_map":{"a":"../one.safetensors"}}`, `weight_map: tensor "a": want the name of a file in the same folder, got "../one.safetensors"`},
		{`{"weight_map":{"a":""}}`, `weight_map: tensor "a": want the name of a file in the same folder, got ""`},
		{`{"weight_map":{"a":"missing.safetensors"}}`, "missing.safetensors"},
		{`{"weight_map":{"a":"one.safetensors","b":"one.safetensors"}}`, `tensor "b": want it in one.safetensors, as weight_map says, that file has none of the name`},
		{`{"weight_map":{"a":"one.safetensors","b":"two.safetensors"}}`, `weight_map: want the file of each tensor, got none for "c", which is in two.safetensors`},
		{`{"weight_map":{"a":"one.safetensors","b":"again.safetensors"}}`, `tensor "a": want it in one file, got it in again.safetensors and one.safetensors`},
	} {
		path := shards(t, c.index)
		_, err := ReadSharded(path)
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, path)
		require.NotContains(t, err.Error(), "\n")
	}
	_, err := ReadSharded(filepath.Join(t.TempDir(), ModelIndex))
	require.ErrorIs(t, err, os.ErrNotExist)
}
