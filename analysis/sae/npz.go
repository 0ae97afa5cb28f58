package sae

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/internal/memory"
)

// openScope reads Gemma Scope's params.npz: W_enc, b_enc, W_dec, b_dec and threshold of a JumpReLU
// SAE. The path names the file or its folder; openScope returns nil for a folder without the file.
func openScope(path string) (*SAE, error) {
	if filepath.Ext(path) != ".npz" {
		if path = filepath.Join(path, scopeFile); !exists(path) {
			return nil, nil
		}
	}
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, errors.WithStack(err)
	}
	defer z.Close()
	parameter := func(name string) (checkpoint.Tensor, error) {
		t, err := readNPY(&z.Reader, name)
		return t, errors.WithMessage(err, name)
	}
	encoder, err := parameter("W_enc")
	if err != nil {
		return nil, err
	}
	if len(encoder.Shape) != 2 {
		return nil, errors.Errorf("W_enc: want 2 axes, got %d", len(encoder.Shape))
	}
	c := Config{Architecture: JumpReLU, In: encoder.Shape[0], Features: encoder.Shape[1]}
	return folderConfig{Config: c, Normalize: "none", Reshape: "none"}.open(parameter)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// npyHeader matches the header of an array of float32 in C order.
var npyHeader = regexp.MustCompile(`^\{'descr': '<f4', 'fortran_order': False, 'shape': \(([0-9, ]*)\), *\}\s*$`)

// readNPY reads an array of numpy's .npy format, version 1.0, from an archive.
func readNPY(z *zip.Reader, name string) (t checkpoint.Tensor, err error) {
	file, err := z.Open(name + ".npy")
	if err != nil {
		return t, errors.WithStack(err)
	}
	defer file.Close()
	most := memory.Available() / 2
	content, err := io.ReadAll(io.LimitReader(file, int64(most)))
	const lead = 10 // magic, version and length
	if err != nil || len(content) == most || len(content) < lead || !bytes.HasPrefix(content, []byte("\x93NUMPY\x01\x00")) {
		return t, errors.Errorf("want an array in numpy's format 1.0 that fits in memory, got %d bytes of something else (%v)", len(content), err)
	}
	end := min(lead+int(binary.LittleEndian.Uint16(content[lead-2:])), len(content))
	header := npyHeader.FindSubmatch(content[lead:end])
	if header == nil {
		return t, errors.Errorf("want float32 in C order, got %q", content[lead:end])
	}
	values := make([]float32, (len(content)-end)/4)
	size := 1
	for _, n := range strings.FieldsFunc(string(header[1]), func(r rune) bool { return r == ',' || r == ' ' }) {
		axis, err := strconv.Atoi(n)
		if err != nil || axis < 1 || size > len(values)/axis {
			return t, errors.Errorf("want at most the %d entries of the file, got shape (%s)", len(values), header[1])
		}
		size *= axis
		t.Shape = append(t.Shape, axis)
	}
	if size != len(values) {
		return t, errors.Errorf("want as many entries as shape (%s) has, got %d", header[1], len(values))
	}
	t.Name, t.Data = name, values
	return t, errors.WithStack(binary.Read(bytes.NewReader(content[end:]), binary.LittleEndian, values))
}
