//go:build parquet

package parquet

import (
	"bufio"
	"encoding/binary"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/pkg/errors"
)

// Types of Thrift's compact protocol.
const (
	thriftTrue = 1 + iota
	thriftFalse
	thriftByte
	thriftInt16
	thriftInt32
	thriftInt64
	thriftDouble
	thriftBinary
	thriftList
	thriftSet
	thriftMap
	thriftStruct
)

// mostDepth is how deep values, or columns, may be nested. The values of a footer have a depth of
// 10.
const mostDepth = 64

// walker reads a struct in Thrift's compact protocol and sees that what it announces is there:
// https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
type walker struct {
	in      *bufio.Reader
	left    int64  // bytes that may follow
	structs int64  // structs that lists may still contain
	kept    []byte // the bytes of the struct
	err     error
}

// decode reads a struct.
func (w *walker) decode(to any) {
	if w.fields(0); w.err == nil {
		w.err = thrift.Unmarshal(new(thrift.CompactProtocol), w.kept, to)
	}
}

// ReadByte is for binary.ReadUvarint.
func (w *walker) ReadByte() (byte, error) {
	if w.err != nil {
		return 0, w.err
	}
	var b byte
	if w.left--; w.left < 0 {
		w.err = io.ErrUnexpectedEOF
	} else if b, w.err = w.in.ReadByte(); w.err == io.EOF {
		w.err = io.ErrUnexpectedEOF
	}
	if w.err == nil {
		w.kept = append(w.kept, b)
	}
	return b, w.err
}

func (w *walker) next() byte {
	b, _ := w.ReadByte() // the error stays in w.err
	return b
}

func (w *walker) number() uint64 {
	n, err := binary.ReadUvarint(w)
	if w.err == nil {
		w.err = err
	}
	return n
}

// skip passes over n bytes.
func (w *walker) skip(n uint64) {
	if w.err == nil && n > uint64(w.left) {
		w.err = errors.Errorf("a text of %d bytes is announced where %d are left", n, w.left)
	}
	for ; n > 0 && w.err == nil; n-- {
		w.next()
	}
}

// fields passes over the fields of a struct.
func (w *walker) fields(depth int) {
	for w.err == nil {
		b := w.next()
		if b == 0 {
			return
		}
		if b>>4 == 0 {
			w.number() // the field's id
		}
		if kind := b & 15; kind != thriftTrue && kind != thriftFalse {
			w.value(kind, depth+1)
		}
	}
}

// value passes over a value that is no field of type bool.
func (w *walker) value(kind byte, depth int) {
	if depth > mostDepth {
		w.err = errors.Errorf("want at most %d structs and lists in each other, got more", mostDepth)
		return
	}
	switch kind {
	case thriftTrue, thriftFalse, thriftByte:
		w.next()
	case thriftInt16, thriftInt32, thriftInt64:
		w.number()
	case thriftDouble:
		w.skip(8)
	case thriftBinary:
		w.skip(w.number())
	case thriftList, thriftSet:
		w.list(depth)
	case thriftMap:
		if size := w.number(); size > 0 {
			b := w.next()
			w.elements(size, depth, b>>4, b&15)
		}
	case thriftStruct:
		w.fields(depth)
	default:
		w.err = errors.Errorf("want a type of Thrift, got number %d", kind)
	}
}

func (w *walker) list(depth int) {
	b := w.next()
	size := uint64(b >> 4)
	if size == 15 {
		size = w.number()
	}
	w.elements(size, depth, b&15)
}

// elements passes over the elements of a list, or the pairs of a map.
func (w *walker) elements(size uint64, depth int, kinds ...byte) {
	if w.err == nil && (size > uint64(w.left) || kinds[0] == thriftStruct && size > uint64(w.structs)) {
		w.err = errors.Errorf("a list of %d elements is announced where %d bytes are left", size, w.left)
	}
	if kinds[0] == thriftStruct {
		w.structs -= int64(size)
	}
	for ; size > 0 && w.err == nil; size-- {
		for _, kind := range kinds {
			w.value(kind, depth+1)
		}
	}
}
