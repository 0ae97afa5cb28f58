//go:build parquet

package parquet

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/data"
)

type message struct {
	Text string `parquet:"text,dict"`
}

type row struct {
	ID      int64    `parquet:"id"`
	Text    *string  `parquet:"text,optional,zstd"`
	Tags    []string `parquet:"tags"`
	Message message  `parquet:"message"`
}

// rows returns n rows, of which every seventh has no text.
func rows(n int) []row {
	var all []row
	for i := range n {
		text := fmt.Sprintf("text %d", i)
		r := row{ID: int64(i), Text: &text, Tags: []string{"a", "b"}, Message: message{fmt.Sprintf("message %d", i%3)}}
		if i%7 == 6 {
			r.Text = nil
		}
		all = append(all, r)
	}
	return all
}

func file(t *testing.T, all []row) []byte {
	t.Helper()
	var out bytes.Buffer
	w := parquet.NewGenericWriter[row](&out, parquet.PageBufferSize(512), parquet.MaxRowsPerRowGroup(400))
	_, err := w.Write(all)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

func texts(content []byte, column string, longest int64) (all []string, err error) {
	err = read(context.Background(), bytes.NewReader(content), int64(len(content)), column, longest, func(number int, text string) error {
		all = append(all, fmt.Sprintf("%d %s", number, text))
		return nil
	})
	return all, err
}

// TestColumns: rows from several groups and pages come in order, and those without a value are
// empty.
func TestColumns(t *testing.T) {
	content := file(t, rows(1000))
	got, err := texts(content, "text", 0)
	require.NoError(t, err)
	require.Len(t, got, 1000)
	for i, text := range got {
		want := fmt.Sprintf("%d text %d", i+1, i)
		if i%7 == 6 {
			want = fmt.Sprintf("%d ", i+1)
		}
		require.Equal(t, want, text)
	}
	got, err = texts(content, "message.text", 0)
	require.NoError(t, err)
	require.Equal(t, "1000 message 0", got[999])
	for column, want := range map[string]string{
		"body":    `want the text in column "body", got a file with the columns [id, text, tags, message.text]: name it by -text-field`,
		"id":      `column "id": want strings, one a row, got INT(64,true)`,
		"tags":    `column "tags": want strings, one a row, got lists of STRING`,
		"message": `want the text in column "message", got a file with the columns`,
	} {
		_, err := texts(content, column, 0)
		assert.ErrorContains(t, err, want)
	}
	_, err = texts(content, "text", 7)
	assert.EqualError(t, err, "row 101: want documents of at most 7 bytes, for which there is memory, got one of 8: use fewer threads")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, read(ctx, bytes.NewReader(content), int64(len(content)), "text", 0, nil), context.Canceled)
}

// TestColumnsWithDots: a dot may be part of a column's name, or separate the names of columns.
func TestColumnsWithDots(t *testing.T) {
	type inner struct {
		Text  string `parquet:"text"`
		Other string `parquet:"b.c"`
	}
	type dotted struct {
		Inner inner  `parquet:"meta"`
		Flat  string `parquet:"meta.text"`
	}
	var out bytes.Buffer
	w := parquet.NewGenericWriter[dotted](&out)
	_, err := w.Write([]dotted{{inner{"inner", "deep"}, "flat"}})
	require.NoError(t, err)
	require.NoError(t, w.Close())
	for column, want := range map[string]string{"meta.text": "1 flat", "meta.b.c": "1 deep"} {
		got, err := texts(out.Bytes(), column, 0)
		require.NoError(t, err)
		assert.Equal(t, []string{want}, got)
	}
	_, err = texts(out.Bytes(), "", 0)
	assert.ErrorContains(t, err, `want the text in column "", got a file with the columns [meta.text, meta.b.c, meta.text]`)
}

// TestDamagedFiles: a file cut short anywhere gives an error; one with changed bytes gives an error
// or other rows, never a panic, and takes little memory.
func TestDamagedFiles(t *testing.T) {
	content := file(t, rows(50))
	for n := 0; n < len(content); n += 1 + len(content)/100 {
		_, err := texts(content[:n], "text", 0)
		require.ErrorContains(t, err, "want a Parquet file, got a damaged", "%d bytes", n)
	}
	random := rand.New(rand.NewPCG(1, 1))
	failed := 0
	for range 300 {
		damaged := bytes.Clone(content)
		for range 3 {
			damaged[random.IntN(len(damaged))] = byte(random.Uint32())
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := texts(damaged, "text", 1<<20); err != nil {
			failed++
		}
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(256<<20))
	}
	assert.Greater(t, failed, 100)
}

// TestPrepared: rows become documents, and an error names the file.
func TestPrepared(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.parquet")
	require.NoError(t, os.WriteFile(path, file(t, rows(20)), 0o600))
	o := data.Options{Source: data.Files{}, Paths: []string{dir}, Formats: []data.Format{Format()}, Split: "none"}
	p, err := data.NewPreparation(t.Context(), data.PrepareOptions{Options: o, Dir: filepath.Join(t.TempDir(), "shards")})
	require.NoError(t, err)
	meta, err := p.Run(t.Context())
	require.NoError(t, err)
	assert.EqualValues(t, 18, meta.Train.Documents)
	assert.EqualValues(t, 2, meta.Blank)
	assert.Equal(t, "a.parquet:11", meta.Longest.Name)
	for content, want := range map[string]string{
		"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n": path + ": it is a Git LFS pointer to the file that is wanted: run git lfs pull",
		"PK\x03\x04":        path + ": want a Parquet file, but it is a zip archive",
		"GGUF\x03\x00":      path + ": want a Parquet file, but it is a GGUF file",
		"text, long enough": path + `: want a Parquet file, got a damaged or truncated one: want PAR1 at its end, got "ough"`,
	} {
		other := filepath.Join(t.TempDir(), "a.parquet")
		require.NoError(t, os.WriteFile(other, []byte(content), 0o600))
		_, err := data.Load(t.Context(), data.Options{Source: data.Files{}, Paths: []string{other}, Formats: []data.Format{Format()}})
		assert.ErrorContains(t, err, strings.Replace(want, path, other, 1))
	}
	require.NoError(t, os.Truncate(path, 300))
	p, err = data.NewPreparation(t.Context(), data.PrepareOptions{Options: o, Dir: filepath.Join(t.TempDir(), "shards")})
	require.NoError(t, err)
	_, err = p.Run(t.Context())
	assert.ErrorContains(t, err, path+": want a Parquet file, got a damaged or truncated one: ")
	assert.NotContains(t, err.Error(), "\n")
}
