package checkpoint

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/regular"
)

// maxIndexBytes limits the size of a [ModelIndex], which has about a hundred bytes for each tensor.
const maxIndexBytes = 64 << 20

// ReadSharded reads the safetensors files named by an index in the format of Hugging Face's
// transformers: a JSON object whose weight_map gives, for each tensor, a file in the index's
// folder. It returns the tensors of all files. Each tensor in the index must be in its file and in
// no other. Metadata stays nil.
func ReadSharded(index string) (*File, error) { return readShards(index, ReadTensors) }

// readShards does the work of ReadSharded with files that read reads.
func readShards(index string, read func(path string) (*File, error)) (*File, error) {
	fileOf, err := readIndex(index)
	if err != nil {
		return nil, err
	}
	whole, foundIn := &File{}, map[string]string{}
	for _, name := range slices.Compact(slices.Sorted(maps.Values(fileOf))) {
		shard, err := read(filepath.Join(filepath.Dir(index), name))
		if err != nil {
			return nil, errors.Wrap(err, index)
		}
		for _, t := range shard.Tensors {
			if other, twice := foundIn[t.Name]; twice {
				return nil, errors.Errorf("%s: tensor %q: want it in one file, got it in %s and %s", index, t.Name, other, name)
			}
			foundIn[t.Name] = name
			if fileOf[t.Name] == "" {
				return nil, errors.Errorf("%s: weight_map: want the file of each tensor, got none for %q, which is in %s", index, t.Name, name)
			}
		}
		whole.Tensors = append(whole.Tensors, shard.Tensors...)
	}
	for _, name := range slices.Sorted(maps.Keys(fileOf)) {
		if foundIn[name] != fileOf[name] {
			return nil, errors.Errorf("%s: tensor %q: want it in %s, as weight_map says, that file has none of the name", index, name, fileOf[name])
		}
	}
	return whole, nil
}

// readIndex returns the file of each tensor.
func readIndex(path string) (map[string]string, error) {
	text, err := regular.Read(path, maxIndexBytes)
	if err != nil {
		return nil, err
	}
	var index struct {
		Files map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(text, &index); err != nil {
		return nil, errors.Wrapf(err, "%s: want a JSON object with the file of each tensor in weight_map", path)
	}
	if len(index.Files) == 0 {
		return nil, errors.Errorf("%s: weight_map: want the file of each tensor, got nothing", path)
	}
	for _, tensor := range slices.Sorted(maps.Keys(index.Files)) {
		if file := index.Files[tensor]; !filepath.IsLocal(file) || filepath.Base(file) != file {
			return nil, errors.Errorf("%s: weight_map: tensor %q: want the name of a file in the same folder, got %q", path, tensor, file)
		}
	}
	return index.Files, nil
}
