package data

import (
	"bytes"
	"cmp"
	"context"
	"io"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/regular"
)

// A compressed file may contain freeText bytes of text, or mostExpansion times its own size if
// that is more. Compression shrinks prose and source code to between a third and an eighth,
// logs to a thirtieth. A file beyond the limits is made to fill memory: gzip can shrink data
// to a thousandth, zstd to a thirty-thousandth.
const (
	freeText      = 64 << 20
	mostExpansion = 100
)

// textShare is the share of the available memory, as 1/textShare, that the text of one compressed
// file may take: reading it takes its bytes twice, its ids and its tokens.
const textShare = 8

// textReader passes text on and returns an error as soon as it turns out not to be text: at
// the first NUL byte, or when a compressed file yields far more than text would. It also stops
// when ctx ends. Its errors do not name the file.
type textReader struct {
	ctx    context.Context
	r      io.Reader
	packed int64  // size of a compressed file, 0 if it is not compressed
	memory int64  // bytes available for what is read; 0: unknown
	read   int64  // bytes passed on
	start  []byte // the first bytes, by which some formats are recognised
	err    error  // what Read has returned; it returns nothing else afterwards
}

// Read reads and checks the next bytes.
func (t *textReader) Read(p []byte) (n int, err error) {
	if t.err == nil {
		n, t.err = t.next(p)
	}
	return n, t.err
}

func (t *textReader) next(p []byte) (int, error) {
	if err := t.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := t.r.Read(p)
	if missing := regular.KindBytes - len(t.start); missing > 0 {
		t.start = append(t.start, p[:min(n, missing)]...)
	}
	if at := bytes.IndexByte(p[:n], 0); at >= 0 {
		return 0, t.errBinary(t.read + int64(at))
	}
	t.read += int64(n)
	if most := t.memory / textShare; t.packed > 0 && t.memory > 0 && t.read > most {
		return 0, errors.Errorf("want at most %d MiB of text in a compressed file, 1/%d of the memory that is available, got more: "+
			"decompress it and cut it into several files", most>>20, textShare)
	}
	if most := max(freeText, mostExpansion*t.packed); t.packed > 0 && t.read > most {
		return 0, errors.Errorf("want at most %d bytes of text in a compressed file of %d bytes (%d MiB, or %d times its size), got more: "+
			"it is damaged or made to fill memory; if it is neither, decompress it first", most, t.packed, freeText>>20, mostExpansion)
	}
	return n, err
}

func (t *textReader) errBinary(at int64) error {
	hint := cmp.Or(regular.Kind(t.start), "UTF-16 has to be converted first")
	return errors.Errorf("want text in UTF-8, got a binary file (NUL at byte %d); %s", at, hint)
}
