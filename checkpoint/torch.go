package checkpoint

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/regular"
)

// TorchFile is a file of PyTorch's torch.save, which is a zip archive: data.pkl says what there is,
// and each storage of numbers is an entry of its own, stored as it is.
type TorchFile struct {
	path    string
	size    int64
	file    *os.File
	entries map[string]*zip.File // by name, without the archive's own folder
	root    any
	views   map[string]Tensor // tensors that were read, by storage, offset, shape and strides
	read    int64             // bytes of them
	buf     []byte
}

const (
	maxPickleBytes   = 64 << 20 // of data.pkl, which has about 200 bytes for each tensor
	maxTorchElements = 1 << 48  // of a storage
	maxTorchSize     = 2        // how many times a file's size its tensors may take together, since some share storages
)

// torchStorage is the entry of a file that holds numbers.
type torchStorage struct {
	key      string
	kind     DType
	elements int64
}

// torchTensor is a view of a storage.
type torchTensor struct {
	storage torchStorage
	offset  int64
	shape   []int
	strides []int64
}

// torchTypes are the element types of torch's storages by the names of their classes. Types that
// are not decoded have sizes, too.
func torchTypes() map[string]DType {
	return map[string]DType{"FloatStorage": F32, "HalfStorage": F16, "BFloat16Storage": BF16, "DoubleStorage": F64, "IntStorage": I32, "LongStorage": I64,
		"ByteStorage": U8, "BoolStorage": "BOOL", "CharStorage": "I8", "ShortStorage": "I16"}
}

// OpenTorch opens a file that torch.save wrote. It reads data.pkl, but no storage. Classes other
// than dicts and tensors are refused by name. Close the file after use.
func OpenTorch(path string) (*TorchFile, error) {
	in, size, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	f := &TorchFile{path: path, size: size, file: in, entries: map[string]*zip.File{}, views: map[string]Tensor{}, buf: make([]byte, chunkBytes)}
	if err := f.open(in); err != nil {
		_ = in.Close()
		return nil, errors.Wrap(err, path)
	}
	return f, nil
}

// Close closes the file.
func (f *TorchFile) Close() error { return f.file.Close() }

func (f *TorchFile) open(at *os.File) error {
	var lead [4]byte
	if _, err := at.ReadAt(lead[:], 0); err != nil || !bytes.Equal(lead[:], []byte("PK\x03\x04")) {
		return damagedf("want a zip archive of torch.save: load a file of PyTorch before 1.6, or of another kind, in Python, and save it by " +
			"torch.save or as safetensors")
	}
	archive, err := zip.NewReader(at, f.size)
	if err != nil {
		return damagedf("%v: is the file whole?", err)
	}
	for _, e := range archive.File {
		_, name, _ := strings.Cut(e.Name, "/")
		f.entries[name] = e
	}
	if order, err := f.small("byteorder"); err == nil && string(order) != "little" {
		return errors.Errorf("byteorder: want little, got %.20q", order)
	}
	if f.entries["constants.pkl"] != nil {
		return errors.New("want weights that torch.save wrote, got a TorchScript: save its state_dict()")
	}
	code, err := f.small("data.pkl")
	if err != nil {
		return err
	}
	m := pickleMachine{code: code, call: callTorch, persistent: persistentTorch}
	f.root, err = m.run()
	return err
}

// small returns the content of an entry that is read as a whole.
func (f *TorchFile) small(name string) ([]byte, error) {
	e := f.entries[name]
	if e == nil {
		return nil, damagedf("want an entry %s, got none: not a file of torch.save", name)
	}
	if e.Method != zip.Store || e.UncompressedSize64 > maxPickleBytes || int64(e.UncompressedSize64) > f.size {
		return nil, errors.Errorf("entry %s: want it stored as it is, of at most %d bytes, got method %d and %d bytes", name, maxPickleBytes, e.Method,
			e.UncompressedSize64)
	}
	r, err := e.Open()
	if err != nil {
		return nil, errors.Wrap(err, name)
	}
	defer r.Close()
	text := make([]byte, e.UncompressedSize64)
	_, err = io.ReadFull(r, text)
	return text, errors.Wrap(err, name)
}

// callTorch makes the objects that files of weights have.
func callTorch(class pickleClass, args []any) (any, error) {
	switch name := class.module + "." + class.name; {
	case name == "collections.OrderedDict":
		if len(args) > 0 {
			return nil, errors.New("OrderedDict: want an empty one that is filled, got arguments")
		}
		return &pickleDict{}, nil
	case name == "torch._utils._rebuild_parameter" && len(args) > 0:
		return args[0], nil
	case name == "torch._utils._rebuild_tensor_v2" && len(args) >= 4:
		return rebuiltTensor(args)
	default:
		return nil, errors.Errorf("class %.80q: want weights alone, of OrderedDict and torch's tensors: save a model's state_dict()", name)
	}
}

// rebuiltTensor makes a tensor of a storage, an offset, a shape and strides.
func rebuiltTensor(args []any) (any, error) {
	storage, ok := args[0].(torchStorage)
	offset, isOffset := args[1].(int64)
	shape, first := int64sOf(args[2])
	strides, second := int64sOf(args[3])
	if !ok || !isOffset || !first || !second || len(shape) != len(strides) {
		return nil, damagedf("want a tensor of a storage with an offset, a shape and a stride for each axis")
	}
	t := torchTensor{storage: storage, offset: offset, strides: strides}
	elements, last := int64(1), offset
	for i, axis := range shape {
		if axis < 0 || strides[i] < 0 || axis > math.MaxInt32 || strides[i] > math.MaxInt32 {
			return nil, damagedf("want axes and strides >= 0, and an int32, got %v and %v", shape, strides)
		}
		if elements *= axis; elements > math.MaxInt32*8 {
			return nil, damagedf("shape %v: too many elements", shape)
		}
		last += max(0, axis-1) * strides[i]
		t.shape = append(t.shape, int(axis))
	}
	if elements > 0 && (offset < 0 || offset > storage.elements || last >= storage.elements) {
		return nil, damagedf("tensor of shape %v: want entries up to %d of a storage, got one of %d", shape, last, storage.elements)
	}
	return t, nil
}

func int64sOf(v any) (all []int64, ok bool) {
	list, ok := v.(*pickleList)
	ok = ok && len(list.items) <= 8 // PyTorch's tensors of weights have 5 axes or fewer
	for i := 0; ok && i < len(list.items); i++ {
		var n int64
		n, ok = list.items[i].(int64)
		all = append(all, n)
	}
	return all, ok
}

// persistentTorch makes a storage of ("storage", class, key, device, elements).
func persistentTorch(id any) (any, error) {
	list, _ := id.(*pickleList)
	if list == nil || len(list.items) != 5 || list.items[0] != "storage" {
		return nil, damagedf("want the id of a storage, got %T", id)
	}
	class, isClass := list.items[1].(pickleClass)
	key, isKey := list.items[2].(string)
	elements, isNumber := list.items[4].(int64)
	kind := torchTypes()[class.name]
	if !isClass || !isKey || len(key) > 20 || !isNumber || elements < 0 || elements > maxTorchElements || class.module != "torch" || kind == "" {
		return nil, errors.Errorf("class %.80q: want one of torch's storages of numbers, with a number as its key", class.module+"."+class.name)
	}
	return torchStorage{key, kind, elements}, nil
}

// Number returns a number of a dict at the given keys, 0 if there is none.
func (f *TorchFile) Number(keys ...string) float64 {
	switch v := f.value(keys).(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	case bool:
		if v {
			return 1
		}
	}
	return 0
}

// Has tells whether there is a value at the given keys.
func (f *TorchFile) Has(keys ...string) bool {
	parent, _ := f.value(keys[:len(keys)-1]).(*pickleDict)
	if parent == nil {
		return false
	}
	_, ok := parent.values[keys[len(keys)-1]]
	return ok
}

// value returns the value at the given keys of dicts, nil if there is none.
func (f *TorchFile) value(keys []string) any {
	v := f.root
	for _, key := range keys {
		d, _ := v.(*pickleDict)
		if d == nil {
			return nil
		}
		v = d.values[key]
	}
	return v
}

// Tensors reads the tensors of the dict at the given keys, of the whole file if there are none.
// Values that are no tensors are left out. All tensors together may take at most twice the file's
// size.
func (f *TorchFile) Tensors(keys ...string) ([]Tensor, error) {
	d, _ := f.value(keys).(*pickleDict)
	if d == nil {
		return nil, errors.Errorf("%s: want a dict of tensors at %v, got %T", f.path, keys, f.value(keys))
	}
	all := make([]Tensor, 0, len(d.keys))
	for _, key := range d.keys {
		view, ok := d.values[key].(torchTensor)
		name, isText := key.(string)
		if !ok || !isText {
			continue
		}
		t, err := f.tensor(view)
		if err != nil {
			return nil, errors.Wrapf(err, "%s: tensor %q", f.path, name)
		}
		t.Name = name
		all = append(all, t)
	}
	return all, nil
}

// tensor reads a view, once.
func (f *TorchFile) tensor(v torchTensor) (Tensor, error) {
	id := fmt.Sprint(v)
	if t, ok := f.views[id]; ok {
		return t, nil
	}
	elements, err := elementsOf(v.shape)
	if err != nil {
		return Tensor{}, err
	}
	t := Tensor{Shape: v.shape}
	if v.storage.kind.Size() == 0 {
		t.Data = Undecoded{v.storage.kind}
		return t, nil
	}
	span := int64(min(1, elements)) // entries from the first to the last
	for i, axis := range v.shape {
		span += int64(max(0, axis-1)) * v.strides[i]
	}
	if f.read += max(span, int64(elements)) * 4; f.read > maxTorchSize*f.size*int64(max(1, 4/v.storage.kind.Size())) {
		return Tensor{}, damagedf("want tensors that take no more memory than the file of %d bytes justifies, got more", f.size)
	}
	if t.Data, err = f.elements(v, elements, span); err == nil {
		f.views[id] = t
	}
	return t, err
}

// elements reads the numbers of a view. Those that do not lie one after the other are gathered from
// the part of the storage between the first and the last.
func (f *TorchFile) elements(v torchTensor, elements int, span int64) (any, error) {
	size := int64(v.storage.kind.Size())
	e := f.entries["data/"+v.storage.key]
	switch {
	case e == nil:
		return nil, damagedf("want an entry data/%s, got none", v.storage.key)
	case e.Method != zip.Store || int64(e.UncompressedSize64) != size*v.storage.elements || e.CompressedSize64 != e.UncompressedSize64:
		return nil, damagedf("entry data/%s: want %d bytes, stored as they are, got %d", v.storage.key, size*v.storage.elements, e.UncompressedSize64)
	case elements == 0:
		return newData(v.storage.kind, 0), nil
	}
	start, err := e.DataOffset()
	if err != nil {
		return nil, damagedf("entry data/%s: %v", v.storage.key, err)
	}
	dense, ordered := int64(1), true
	for i := len(v.shape) - 1; i >= 0; i-- {
		ordered = ordered && (v.shape[i] == 1 || v.strides[i] == dense)
		dense *= int64(v.shape[i])
	}
	from := io.NewSectionReader(f.file, start+size*v.offset, size*span)
	data := newData(v.storage.kind, int(span))
	if err := readData(from, v.storage.kind, data, int(size*span), f.buf); err != nil || ordered {
		return data, err
	}
	return gathered(data, v, elements), nil
}

// gathered returns the entries of a view in order.
func gathered(data any, v torchTensor, elements int) any {
	from := reflect.ValueOf(data)
	out := reflect.MakeSlice(from.Type(), elements, elements)
	for i := range elements {
		at, rest := int64(0), i
		for axis := len(v.shape) - 1; axis >= 0; axis-- {
			at += int64(rest%v.shape[axis]) * v.strides[axis]
			rest /= v.shape[axis]
		}
		out.Index(i).Set(from.Index(int(at)))
	}
	return out.Interface()
}

// ReadTorch reads the tensors of a file that torch.save wrote of a model's state_dict(), or of an
// index of such files, pytorch_model.bin.index.json.
func ReadTorch(path string) (*File, error) {
	if filepath.Ext(path) == ".json" {
		return readShards(path, ReadTorch)
	}
	f, err := OpenTorch(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	tensors, err := f.Tensors()
	return &File{Tensors: tensors}, err
}
