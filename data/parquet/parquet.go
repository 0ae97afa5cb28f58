//go:build parquet

package parquet

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/internal/regular"
)

// valuesAtOnce is the number of values that are read at a time.
const valuesAtOnce = 256

// Format reads .parquet files: each row is a document, whose text is in a column of strings. A
// nested column is named with dots, as in message.text. Rows without a value are skipped. Only
// one page of the column is in memory at a time.
func Format() data.Format { return data.Format{Extension: ".parquet", Read: read} }

func read(ctx context.Context, file io.ReaderAt, size int64, column string, longest int64, emit func(int, string) error) (err error) {
	defer func() {
		if r := recover(); r != nil { // the library panics on some damaged files
			err = errors.Errorf("want a Parquet file, got a damaged one: %v", r)
		}
	}()
	const damaged = "want a Parquet file, got a damaged or truncated one"
	start := make([]byte, regular.KindBytes)
	n, _ := file.ReadAt(start, 0) // an error comes again
	if what := regular.Kind(start[:n]); what != "" && !bytes.HasPrefix(start, []byte(magic)) {
		return errors.Errorf("want a Parquet file, but %s", what)
	}
	if err := checkFooter(file, size); err != nil {
		return errors.Wrap(err, damaged)
	}
	f, err := parquet.OpenFile(file, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return errors.Wrap(err, damaged)
	}
	leaf, err := findColumn(f.Schema(), column)
	if err != nil {
		return err
	}
	r := reader{ctx: ctx, longest: longest, emit: emit}
	for i, group := range f.RowGroups() {
		if err := checkPages(file, size, &f.Metadata().RowGroups[i].Columns[leaf.ColumnIndex].MetaData); err != nil {
			return errors.Wrapf(err, "%s: row group %d", damaged, i+1)
		}
		if err := r.chunk(group.ColumnChunks()[leaf.ColumnIndex]); err != nil {
			return errors.Wrapf(err, "row %d", r.row+1)
		}
	}
	return nil
}

// findColumn returns the column of strings with a name. A column inside other columns has their
// names, joined by dots; if several columns have the name, the least nested one is meant.
func findColumn(schema *parquet.Schema, name string) (leaf parquet.LeafColumn, err error) {
	var path, have []string
	for _, column := range schema.Columns() {
		joined := strings.Join(column, ".")
		if have = append(have, joined); joined == name && (path == nil || len(column) < len(path)) {
			path = column
		}
	}
	leaf, ok := schema.Lookup(path...)
	switch {
	case path == nil || !ok:
		return leaf, errors.Errorf("want the text in column %q, got a file with the columns [%s]: name it by -text-field", name, strings.Join(have, ", "))
	case leaf.MaxRepetitionLevel > 0 || leaf.Node.Type().Kind() != parquet.ByteArray:
		return leaf, errors.Errorf("column %q: want strings, one a row, got %s", name, describe(leaf))
	}
	return leaf, nil
}

func describe(leaf parquet.LeafColumn) string {
	if leaf.MaxRepetitionLevel > 0 {
		return fmt.Sprintf("lists of %v", leaf.Node.Type())
	}
	return fmt.Sprint(leaf.Node.Type())
}

// reader emits the values of a column.
type reader struct {
	ctx     context.Context
	longest int64
	emit    func(int, string) error
	row     int // rows emitted or skipped
	values  [valuesAtOnce]parquet.Value
}

// chunk emits the values of a row group.
func (r *reader) chunk(c parquet.ColumnChunk) error {
	pages := c.Pages()
	defer pages.Close()
	for {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		page, err := pages.ReadPage()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		err = r.page(page.Values())
		parquet.Release(page)
		if err != nil {
			return err
		}
	}
}

// page emits the values of a page.
func (r *reader) page(values parquet.ValueReader) error {
	for {
		n, err := values.ReadValues(r.values[:])
		for _, v := range r.values[:n] {
			text := v.ByteArray()
			if r.longest > 0 && int64(len(text)) > r.longest {
				return errors.Errorf("want documents of at most %d bytes, for which there is memory, got one of %d: use fewer threads", r.longest, len(text))
			}
			if err := r.emit(r.row+1, string(text)); err != nil {
				return err
			}
			r.row++
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
