package data

import (
	"bufio"
	"compress/gzip"
	"context"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/regular"
)

const (
	extGzip = ".gz"
	extZstd = ".zst"
)

// compression returns the extension in a name that indicates compression, "" if there is none.
func compression(name string) string {
	name = strings.ToLower(name)
	for _, ext := range []string{extGzip, extZstd} {
		if strings.HasSuffix(name, ext) {
			return ext
		}
	}
	return ""
}

// diskReader says how files are read.
type diskReader struct {
	memory  int           // as Options.Memory
	longest int64         // as Options.longest
	read    *atomic.Int64 // as Options.read
}

// open opens a file, decompressed if its extension says so, and calls use with a textReader,
// which checks what use reads, after a byte order mark.
func (d diskReader) open(ctx context.Context, disk string, use func(*bufio.Reader) error) error {
	f, size, err := regular.Open(disk)
	if err != nil {
		return err
	}
	defer f.Close()
	counted := countedFile{f, d.read}
	text := &textReader{ctx: ctx, r: counted, memory: int64(d.memory)}
	switch compression(disk) {
	case extGzip:
		r, err := gzip.NewReader(counted)
		if err != nil {
			return errors.Wrapf(err, "%s: want a gzip file, as its extension says", disk)
		}
		text.r, text.packed = r, size
	case extZstd:
		window := mostWindow(size)
		r, err := zstd.NewReader(counted, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(uint64(window)))
		if err != nil {
			return errors.Wrapf(err, "%s: want a zstd file, as its extension says", disk)
		}
		defer r.Close()
		text.r, text.packed = zstdReader{r, window}, size
	}
	in := bufio.NewReader(text)
	if start, _ := in.Peek(len(regular.ByteOrderMark)); string(start) == regular.ByteOrderMark {
		_, _ = in.Discard(len(regular.ByteOrderMark)) // they are in the buffer
	}
	return use(in)
}

// mostWindow returns the longest window of a zstd file of size bytes that is read. Reading takes as
// many bytes of memory at once, however little the file holds: 15 times its size, but 56 MiB are
// always allowed and 512 MiB, zstd's --long=29, are never exceeded.
func mostWindow(size int64) int64 {
	return max(56<<20, min(15*size, 512<<20))
}

// zstdReader explains the error about a longer window than most bytes.
type zstdReader struct {
	*zstd.Decoder
	most int64
}

func (r zstdReader) Read(p []byte) (int, error) {
	n, err := r.Decoder.Read(p)
	if errors.Is(err, zstd.ErrWindowSizeExceeded) {
		err = errors.Errorf("want a zstd file with a window of at most %d MiB, 15 times its size but at least 56 and at most 512 MiB, "+
			"got a longer window, which takes as much memory: decompress it first, by zstd -d --long=31", r.most>>20)
	}
	return n, err
}

// text returns the text of a file, which is one document.
func (d diskReader) text(in io.Reader, disk string) (string, error) {
	if d.longest > 0 {
		in = io.LimitReader(in, d.longest+1)
	}
	text, err := io.ReadAll(in)
	if err == nil && d.longest > 0 && int64(len(text)) > d.longest {
		err = errLongDocument(d.longest)
	}
	return string(text), errors.Wrap(err, disk)
}

// errLongDocument reports a document that is longer than most bytes.
func errLongDocument(most int64) error {
	return errors.Errorf("want documents of at most %d bytes, for which there is memory, got a longer one: "+
		"cut it into several files or lines, or use fewer threads", most)
}

// countedFile counts the bytes that are read from a file.
type countedFile struct {
	*os.File
	read *atomic.Int64 // nil: they are not counted
}

func (f countedFile) Read(p []byte) (int, error) { return f.count(f.File.Read(p)) }

func (f countedFile) ReadAt(p []byte, at int64) (int, error) { return f.count(f.File.ReadAt(p, at)) }

func (f countedFile) count(n int, err error) (int, error) {
	if f.read != nil {
		f.read.Add(int64(n))
	}
	return n, err
}
