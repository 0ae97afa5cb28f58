//go:build parquet

package parquet

import (
	"bufio"
	"encoding/binary"
	"io"

	"github.com/parquet-go/parquet-go/format"
	"github.com/pkg/errors"
)

// The library allocates what a file announces. These are the limits of what it may announce.
const (
	freeStructs    = 10_000   // structs in the lists of a footer, besides one in bytesPerStruct bytes
	bytesPerStruct = 8        //
	freePage       = 64 << 20 // bytes of a page, or mostExpansion times its compressed bytes if that is more
	mostExpansion  = 100      //
	mostValues     = 64 << 20 // values of a page
)

const (
	magic     = "PAR1" // begins and ends a file
	tailBytes = 8      // the length of the footer, and magic
)

// checkFooter returns an error if the footer of a file of size bytes is cut short or announces more
// than it can contain.
func checkFooter(file io.ReaderAt, size int64) error {
	var tail [tailBytes]byte
	if _, err := file.ReadAt(tail[:], size-tailBytes); err != nil {
		return errors.Wrap(err, "its last bytes")
	}
	length := int64(binary.LittleEndian.Uint32(tail[:]))
	if string(tail[4:]) != magic {
		return errors.Errorf("want %s at its end, got %q", magic, tail[4:])
	}
	if length > size-tailBytes {
		return errors.Errorf("want a footer in its %d bytes, got one of %d", size, length)
	}
	w := walker{in: bufio.NewReader(io.NewSectionReader(file, size-tailBytes-length, length)), left: length, structs: freeStructs + length/bytesPerStruct}
	var footer format.FileMetaData
	if w.decode(&footer); w.err == nil {
		w.err = checkSchema(footer.Schema)
	}
	return errors.Wrap(w.err, "its footer")
}

// checkSchema returns an error if columns are nested deeper than mostDepth, because the library
// keeps, for each column, the names of all columns around it. schema lists the columns in
// depth-first order.
func checkSchema(schema []format.SchemaElement) error {
	var open []int32 // the children to come of each column that the next one is in
	for _, column := range schema {
		for len(open) > 0 && open[len(open)-1] == 0 {
			open = open[:len(open)-1]
		}
		if len(open) > 0 {
			open[len(open)-1]--
		}
		children := column.NumChildren.V
		if children < 0 || int(children) > len(schema) {
			return errors.Errorf("want at most the %d columns of the schema in column %.40q, got %d", len(schema), column.Name, children)
		}
		if open = append(open, children); len(open) > mostDepth {
			return errors.Errorf("want at most %d columns in each other, got more", mostDepth)
		}
	}
	return nil
}

// checkPages returns an error if the pages of a column chunk announce more than they can contain.
func checkPages(file io.ReaderAt, size int64, chunk *format.ColumnMetaData) error {
	at := chunk.DataPageOffset
	if chunk.DictionaryPageOffset != 0 {
		at = chunk.DictionaryPageOffset
	}
	end := at + chunk.TotalCompressedSize
	if at < 0 || end < at || end > size {
		return errors.Errorf("want a column within the file of %d bytes, got one from byte %d to %d", size, at, end)
	}
	for at < end {
		const headerBytes = 512 // about; most are shorter
		w := walker{in: bufio.NewReaderSize(io.NewSectionReader(file, at, end-at), headerBytes), left: end - at}
		var h format.PageHeader
		if w.decode(&h); w.err == nil {
			w.err = checkPage(h, w.left)
		}
		if w.err != nil {
			return errors.Wrapf(w.err, "page at byte %d", at)
		}
		at += int64(len(w.kept)) + int64(h.CompressedPageSize)
	}
	return nil
}

// checkPage returns an error if no page of at most left compressed bytes can have a header.
func checkPage(h format.PageHeader, left int64) error {
	packed, most := int64(h.CompressedPageSize), max(freePage, mostExpansion*int64(h.CompressedPageSize))
	values := max(h.DataPageHeader.V.NumValues, h.DataPageHeaderV2.V.NumValues, h.DictionaryPageHeader.V.NumValues)
	switch {
	case packed < 0 || packed > left:
		return errors.Errorf("want at most the %d bytes that are left of the column, got %d", left, packed)
	case int64(h.UncompressedPageSize) > most:
		return errors.Errorf("want at most %d bytes in a page of %d compressed bytes, got %d", most, packed, h.UncompressedPageSize)
	case values > mostValues:
		return errors.Errorf("want at most %d values, got %d", mostValues, values)
	}
	return nil
}
