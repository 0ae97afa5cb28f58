package pretrained

import (
	"path/filepath"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/graph"
)

// Save writes a model to one file, which Open and every command can read: the parameters of d.Spec
// from a Store, and their description.
//
//	d := pretrained.Description{Spec: model.Spec()}
//	d.Data.Tokenizer = "bytes"
//	err := pretrained.Save("model.safetensors", store, d)
//
// d.Data.Tokenizer names the tokenizer (data.NewTokenizer) by which the model reads text; "" means
// that it only takes token ids. The rest of d.Data is optional and says where the validation split
// is. The file is replaced as a whole; on an error it is not changed.
func Save(path string, store *graph.Store, d Description) error {
	return save(checkpoint.Disk{}, path, store, d, false)
}

// save writes a model. With half, its float32 parameters are rounded to the nearest bfloat16, and
// the file is half as large; Open reads them as float32.
func save(disk checkpoint.Disk, path string, store *graph.Store, d Description, half bool) error {
	if err := d.check(store); err != nil {
		return errors.Wrapf(err, "%s: cannot save the model", path)
	}
	metadata, err := d.Metadata()
	if err != nil {
		return err
	}
	if err := store.ToHost(); err != nil {
		return err
	}
	tensors := Tensors(store)
	for i, t := range tensors {
		if values, ok := t.Data.([]float32); ok && half {
			tensors[i].Data = checkpoint.ToBFloat16s(values)
		}
	}
	return disk.WriteModel(path, tensors, metadata)
}

// ownFile is the format of our model files.
type ownFile struct{}

// Name returns "residua".
func (ownFile) Name() string { return "residua" }

// ownHalf is the type name for weights rounded to bfloat16.
const ownHalf = "bf16"

// Format describes a file whose weights may be bfloat16.
func (ownFile) Format() Format {
	return Format{Help: "one .safetensors file, which every command reads and train.init_from names; with -type bf16 half as large", Types: []string{ownHalf}}
}

// Export writes the file.
func (ownFile) Export(m *Model, path string, o ExportOptions) (notes []string, err error) {
	d := m.Description
	if data.IsTokenizerFile(d.Data.Tokenizer) {
		d.Data.TokenizerName = ""
		if d.Data.Tokenizer, err = filepath.Abs(d.Data.Tokenizer); err != nil {
			return nil, errors.WithStack(err)
		}
		notes = append(notes, "the model reads text by "+d.Data.Tokenizer+" and the config.json next to it, if there is one: keep them there")
	}
	return notes, save(o.Disk, path, m.Store, d, o.Type == ownHalf)
}
