//go:build parquet

package data_test

import (
	"bytes"
	"testing"

	library "github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/data/parquet"
	"github.com/residua-go/residua/internal/fuzztest"
)

// FuzzParquet: a damaged Parquet file gives an error or other rows.
func FuzzParquet(f *testing.F) {
	type row struct {
		Text    *string `parquet:"text,optional"`
		Message struct {
			Text string `parquet:"text,dict"`
		} `parquet:"message"`
	}
	for _, codec := range []library.WriterOption{library.Compression(&library.Uncompressed), library.Compression(&library.Snappy)} {
		text := "some text"
		var out bytes.Buffer
		w := library.NewGenericWriter[row](&out, codec, library.PageBufferSize(64))
		_, err := w.Write([]row{{Text: &text}, {}, {Text: &text}})
		require.NoError(f, err)
		require.NoError(f, w.Close())
		f.Add(out.Bytes(), "text")
		f.Add(out.Bytes(), "message.text")
	}
	f.Fuzz(func(t *testing.T, content []byte, column string) {
		var err error
		fuzztest.Bounded(t, len(content), func() {
			before := 0
			err = parquet.Format().Read(t.Context(), bytes.NewReader(content), int64(len(content)), column, 1<<20, func(number int, _ string) error {
				require.Greater(t, number, before)
				before = number
				return nil
			})
		})
		fuzztest.OneLine(t, err)
	})
}
