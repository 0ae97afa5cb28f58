package checkpoint

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/regular"
)

// Metadata keys of a model file. [WriteModel] sets all but MetadataConfig.
const (
	MetadataVersion = "residua.version" // the format version, a decimal number
	metadataKind    = "residua.kind"    // "model" or "optimizer"
	MetadataConfig  = "residua.config"  // the model's configuration as JSON: enough to rebuild the graph
	metadataDigest  = "residua.digest"  // sha256 over everything else, see digestOf
)

// FormatVersion is the version of the model files, step folders and pointer files that this package
// writes; it refuses to read higher versions.
const FormatVersion = 2

const (
	kindModel     = "model"
	kindOptimizer = "optimizer"
)

// WriteModel writes a model file atomically. metadata must contain the model's configuration as
// JSON under [MetadataConfig] and may contain more. WriteModel sets version, kind and digest, even
// if metadata has them.
func WriteModel(path string, tensors []Tensor, metadata map[string]string) error {
	return Disk{}.WriteModel(path, tensors, metadata)
}

// WriteModel does what [WriteModel] does, through this Disk.
func (d Disk) WriteModel(path string, tensors []Tensor, metadata map[string]string) error {
	return d.WriteFileAtomic(path, func(w io.Writer) error { return encodeModel(w, tensors, metadata) })
}

// ReadModel reads a model file and returns its tensors and all of its metadata. It returns an error
// that says what is wrong if the file is truncated, damaged, newer, or not a model file.
func ReadModel(path string) (*File, error) {
	f, _, err := readFile(path, kindModel)
	return f, err
}

// ReadModelFS reads a model file from a file system such as an embed.FS.
func ReadModelFS(fsys fs.FS, name string) (*File, error) {
	in, err := fsys.Open(name)
	if err != nil {
		return nil, errors.WithStack(err)
	}
	info, err := in.Stat()
	if err == nil {
		err = regular.Check(name, info)
	}
	if err != nil {
		_ = in.Close()
		return nil, errors.WithStack(err)
	}
	f, _, err := readOpen(in, info.Size(), name, kindModel)
	return f, err
}

func encodeModel(w io.Writer, tensors []Tensor, metadata map[string]string) error {
	if err := checkConfig(metadata); err != nil {
		return err
	}
	return encodeMarked(w, tensors, metadata, kindModel)
}

func checkConfig(metadata map[string]string) error {
	if config := metadata[MetadataConfig]; !json.Valid([]byte(config)) {
		return errors.Errorf("metadata %s: want the model's configuration as JSON, got %q", MetadataConfig, config)
	}
	return nil
}

// encodeMarked adds version, kind and digest to the metadata and writes the file.
func encodeMarked(w io.Writer, tensors []Tensor, metadata map[string]string, kind string) error {
	if err := checkTensors(tensors, metadata); err != nil {
		return err
	}
	marked := maps.Clone(metadata)
	if marked == nil {
		marked = map[string]string{}
	}
	marked[MetadataVersion] = strconv.Itoa(FormatVersion)
	marked[metadataKind] = kind
	var err error
	if marked[metadataDigest], err = digest(tensors, marked); err != nil {
		return err
	}
	return EncodeTensors(w, tensors, marked)
}

// checkMarked returns an error unless the file was written by this package, has the wanted kind and
// a known version, and is undamaged.
func checkMarked(f *File, kind string) error {
	version, ours := f.Metadata[MetadataVersion]
	if !ours {
		return damagedf("no %s in the metadata: another program's file, or a damaged one; convert a foreign checkpoint first", MetadataVersion)
	}
	n, err := strconv.Atoi(version)
	if err != nil || n < 1 {
		return damagedf("metadata %s is %q: damaged", MetadataVersion, version)
	}
	if err := checkVersion(n); err != nil {
		return err
	}
	if got := f.Metadata[metadataKind]; got != kind {
		return errors.Errorf("metadata %s: want %q, got %q: name the %s.safetensors file", metadataKind, kind, got, kind)
	}
	want, got := f.Metadata[metadataDigest], digestOf(f.Tensors, f.Metadata)
	if want != got {
		return damagedf("the content has digest %s, its metadata says %q: the file is damaged or was edited (convert -adopt FILE takes over what another "+
			"program has changed)", got, want)
	}
	if kind == kindModel {
		return checkConfig(f.Metadata)
	}
	return nil
}

// ErrNewer is in the chain of errors about a file that a newer version of this program wrote: the
// file is not damaged, and nothing in its run may be skipped, replaced or removed.
var ErrNewer = errors.New("update the program")

func checkVersion(version int) error {
	if version > FormatVersion {
		return errors.WithMessagef(ErrNewer, "format version %d is newer than this program knows (%d)", version, FormatVersion)
	}
	return nil
}

// Digest returns the sha256 of tensors, as lower-case hex, which does not depend on their order:
// what digestOf does without metadata.
func Digest(tensors []Tensor) string { return digestOf(tensors, nil) }

// digestOf returns the sha256, as lower-case hex, of metadata (without [metadataDigest]) sorted by
// key, then of tensors sorted by name. For metadata it hashes the count, then each key and value.
// For a tensor it hashes the name, the element type (F32 for BF16, which is read as F32), the
// number of axes, the axes, and the little-endian data. Texts are preceded by their length, and
// every number is a little-endian uint64. The digest does not depend on the order or the layout of
// the file, so a tool that copies tensors and metadata preserves it.
func digestOf(tensors []Tensor, metadata map[string]string) string {
	sum, _ := digest(tensors, metadata) // a hash never fails, and tensors in memory neither
	return sum
}

// digest implements digestOf; an error comes from reading a Deferred tensor.
func digest(tensors []Tensor, metadata map[string]string) (string, error) {
	d := digester{sha256.New()}
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(metadata)), func(k string) bool { return k == metadataDigest })
	d.number(len(keys))
	for _, key := range keys {
		d.text(key)
		d.text(metadata[key])
	}
	byName := slices.SortedFunc(slices.Values(tensors), func(a, b Tensor) int { return strings.Compare(a.Name, b.Name) })
	buf := make([]byte, chunkBytes)
	for _, t := range byName {
		t = t.asRead()
		d.text(t.Name)
		d.text(string(t.DType()))
		d.number(len(t.Shape))
		for _, axis := range t.Shape {
			d.number(axis)
		}
		if err := writeData(d, t, buf); err != nil {
			return "", errors.Wrapf(err, "tensor %q", t.Name)
		}
	}
	return hex.EncodeToString(d.Sum(nil)), nil
}

type digester struct{ hash.Hash }

func (d digester) number(n int) { d.Write(binary.LittleEndian.AppendUint64(nil, uint64(n))) }

func (d digester) text(s string) {
	d.number(len(s))
	io.WriteString(d, s)
}
