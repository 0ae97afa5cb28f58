//go:build parquet

package parquet

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// withFooter returns a file of a footer alone.
func withFooter(footer string) []byte {
	content := append([]byte("PAR1"), footer...)
	return append(binary.LittleEndian.AppendUint32(content, uint32(len(footer))), "PAR1"...)
}

// TestAnnouncedLengths: a small file that announces gigabytes is an error and takes no memory.
func TestAnnouncedLengths(t *testing.T) {
	const huge = "\xff\xff\xff\xff\x07" // 2^31 - 1
	for footer, want := range map[string]string{
		"\x15\x02\x19\xfc" + huge + strings.Repeat("\x00", 40):           "its footer: a list of 2147483647 elements is announced where 40 bytes are left",
		"\x15\x02\x19\x1c\x48" + huge:                                    "its footer: a text of 2147483647 bytes is announced where 0 are left",
		"\x15\x02\x19\xfc\xc0\x9a\x0c" + strings.Repeat("\x00", 200_000): "its footer: a list of 200000 elements is announced where 200000 bytes are left",
		"\xfb" + huge + "\x88":                                           "its footer: a list of 2147483647 elements is announced where 0 bytes are left",
		strings.Repeat("\x1c", 1<<20):                                    "its footer: want at most 64 structs and lists in each other, got more",
		"\x19" + strings.Repeat("\x19", 1<<20):                           "its footer: want at most 64 structs and lists in each other, got more",
		"\x15\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff":               "its footer: binary: varint overflows a 64-bit integer",
		"\x15": "its footer: unexpected EOF",
		"\x1f": "its footer: want a type of Thrift, got number 15",
	} {
		_, err := texts(withFooter(footer), "text", 0)
		assert.ErrorContains(t, err, "want a Parquet file, got a damaged or truncated one: "+want)
	}
	content := withFooter("")
	binary.LittleEndian.PutUint32(content[len(content)-tailBytes:], 1<<31)
	_, err := texts(content, "text", 0)
	assert.ErrorContains(t, err, "want a footer in its 12 bytes, got one of 2147483648")
	_, err = texts([]byte("PAR1\x00\x00\x00\x00PARE"), "text", 0)
	assert.ErrorContains(t, err, `want PAR1 at its end, got "PARE"`)
}

// TestAnnouncedSchema: columns in each other are refused before their names are joined, which takes
// the square of their number.
func TestAnnouncedSchema(t *testing.T) {
	footer := func(children ...int32) []byte {
		var m format.FileMetaData
		for _, n := range children {
			m.Schema = append(m.Schema, format.SchemaElement{Name: "a", NumChildren: thrift.New(n)})
		}
		text, err := thrift.Marshal(new(thrift.CompactProtocol), &m)
		require.NoError(t, err)
		return withFooter(string(text))
	}
	for want, content := range map[string][]byte{
		"want at most 64 columns in each other, got more":                        footer(slices.Repeat([]int32{1}, 10_000)...),
		`want at most the 2 columns of the schema in column "a", got 2147483647`: footer(1<<31-1, 0),
		`want at most the 2 columns of the schema in column "a", got -1`:         footer(1, -1),
	} {
		_, err := texts(content, "text", 0)
		assert.ErrorContains(t, err, "want a Parquet file, got a damaged or truncated one: its footer: "+want)
	}
	deep := slices.Concat([]int32{2}, slices.Repeat([]int32{1}, 50), []int32{0}, slices.Repeat([]int32{1}, 50), []int32{0})
	var schema []format.SchemaElement
	for _, n := range deep {
		schema = append(schema, format.SchemaElement{NumChildren: thrift.New(n)})
	}
	assert.NoError(t, checkSchema(schema), "two columns of depth 50, one after the other")
}

// TestAnnouncedPages: as TestAnnouncedLengths, for the headers of pages.
func TestAnnouncedPages(t *testing.T) {
	content := file(t, rows(20))
	f, err := parquet.OpenFile(bytes.NewReader(content), int64(len(content)))
	require.NoError(t, err)
	chunk := f.Metadata().RowGroups[0].Columns[1].MetaData
	require.Equal(t, []string{"text"}, []string(chunk.PathInSchema))
	for want, change := range map[string]func(*format.PageHeader){
		"bytes that are left of the column, got 2147483647": func(h *format.PageHeader) { h.CompressedPageSize = 1<<31 - 1 },
		"want at most 67108864 bytes in a page of ":         func(h *format.PageHeader) { h.UncompressedPageSize = 1<<31 - 1 },
		"want at most 67108864 values, got 2147483647": func(h *format.PageHeader) {
			h.DataPageHeaderV2.V.NumValues, h.DataPageHeader.V.NumValues = 1<<31-1, 1<<31-1
		},
		"want at most the ": func(h *format.PageHeader) { h.CompressedPageSize = -1 },
	} {
		var h format.PageHeader
		r := new(thrift.CompactProtocol).NewReaderFromBytes(content[chunk.DataPageOffset:])
		require.NoError(t, thrift.NewDecoder(r).Decode(&h))
		change(&h)
		header, err := thrift.Marshal(new(thrift.CompactProtocol), &h)
		require.NoError(t, err)
		changed := chunk
		changed.DataPageOffset = 4
		end := chunk.DataPageOffset + chunk.TotalCompressedSize
		body := append(append([]byte("PAR1"), header...), content[int(chunk.DataPageOffset)+r.BytesRead():end]...)
		changed.TotalCompressedSize = int64(len(body)) - 4
		err = checkPages(bytes.NewReader(body), int64(len(body)), &changed)
		assert.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, "page at byte 4: ")
	}
	require.NoError(t, checkPages(bytes.NewReader(content), int64(len(content)), &chunk))
	at := int(chunk.DataPageOffset) + 3 // the header's second field, the size before compression
	for at++; content[at-1] >= 0x80; at++ {
	}
	require.GreaterOrEqual(t, content[at+1], byte(0x80), "the next field, the compressed size, has two bytes")
	copy(content[at+1:], "\xfe\x7f") // 8191
	_, err = texts(content, "text", 0)
	assert.ErrorContains(t, err, "want a Parquet file, got a damaged or truncated one: row group 1: page at byte ")
	assert.ErrorContains(t, err, "bytes that are left of the column, got 8191")
	chunk.TotalCompressedSize = 1 << 62
	assert.ErrorContains(t, checkPages(bytes.NewReader(content), int64(len(content)), &chunk), "want a column within the file of ")
}
