package data

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.String()
}

func zstded(t *testing.T, text string) string {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	defer w.Close()
	return string(w.EncodeAll([]byte(text), nil))
}

// loadTexts returns the documents of the files in these paths.
func loadTexts(t *testing.T, paths ...string) []string {
	t.Helper()
	c := load(t, filesIn(paths...))
	return texts(c.Tokenizer, c.Train)
}

func TestFolder(t *testing.T) {
	root := writeFiles(t, map[string]string{
		"a.txt": "a", "sub/deep/b.MD": "b", "c.go": "c", "d.jsonl": `{"text":"d"}`, "e.txt.gz": gzipped(t, "e"), "f.jsonl.zst": zstded(t, `{"text":"f"}`),
		"image.png": "x", "archive.tar.gz": gzipped(t, "x"), ".hidden.txt": "x", ".git/config.txt": "x", ".hidden": "x", "empty.txt": "",
	})
	assert.Equal(t, []string{"a", "c", "d", "e", "f", "b"}, loadTexts(t, root))
}

func TestFilesWithoutAnExtensionAreReadWhenTheyAreText(t *testing.T) {
	long := strings.Repeat("ä", sniffBytes) // a character is cut at the end of what is looked at
	root := writeFiles(t, map[string]string{
		"README": "readme", "sub/Makefile": "make", "wiki.gz": gzipped(t, "wiki"), "long": "a" + long, "a.txt": "a",
		"program": "\x7fELF\x02\x00", "latin": "caf\xe9", "packed.zst": zstded(t, "\x00"), "not.gz": "plain", "image.png": "text", "empty": "", ".git/HEAD": "hidden",
	})
	c := load(t, filesIn(root))
	assert.Equal(t, []string{"readme", "a", "a" + long, "make", "wiki"}, texts(c.Tokenizer, c.Train))
	assert.Equal(t, []string{`data.path: 5 files passed over, not text by extension or content: "image.png", "latin", "not.gz" and 2 more; name them by a glob to read them`}, c.Notes)

	require.NoError(t, os.Remove(filepath.Join(root, "a.txt")))
	assert.Len(t, loadTexts(t, root), 4, "a folder of such files alone")
	assert.Empty(t, load(t, filesIn(filepath.Join(root, "image.png"))).Notes, "named itself")
	assert.Empty(t, load(t, filesIn(root+"/[Ri]*")).Notes, "a glob")
}

func TestSkippedFilesAreNamedWithoutControlCharacters(t *testing.T) {
	root := writeFiles(t, map[string]string{"a.txt": "text", "a\x1b[31m.png": "x"})
	assert.Contains(t, load(t, filesIn(root)).Notes, `data.path: 1 file passed over, not text by extension or content: "a\x1b[31m.png"; name them by a glob to read them`)
}

func TestFilesAndOrder(t *testing.T) {
	root := writeFiles(t, map[string]string{"x/b.txt": "xb", "y/a.txt": "ya", "y/b.txt": "yb", "plain": "any extension"})
	in := func(name string) string { return filepath.Join(root, name) }
	assert.Equal(t, []string{"any extension"}, loadTexts(t, in("plain")))
	assert.Equal(t, []string{"ya", "yb", "xb"}, loadTexts(t, in("y"), in("x")), "by name, then by entry")
	assert.Equal(t, []string{"ya", "yb"}, loadTexts(t, in("y"), in("y/b.txt"), in("x/../y/a.txt")), "each once")
}

func TestGlob(t *testing.T) {
	root := writeFiles(t, map[string]string{
		"1.txt": "1", "2.txt": "2", "3.md": "3", "s/4.txt": "4", "s/t/5.txt": "5", "s/t/6.md": "6", "s/.h/7.txt": "7", ".8.txt": "8",
	})
	for pattern, want := range map[string][]string{
		"*.txt":          {"1", "2"},
		"[13].*":         {"1", "3"},
		"?.md":           {"3"},
		"**/*.txt":       {"1", "2", "4", "5"},
		"**":             {"1", "2", "3", "4", "5", "6"},
		"s/**/*.md":      {"6"},
		"s/**/t/**/5.*":  {"5"},
		"*/*/*.txt":      {"5"},
		"s/*":            {"4"},
		"s/.h/*":         {"7"},
		"s/.*/*":         {"7"},
		".*.txt":         {"8"},
		"nothing*/1.txt": nil,
	} {
		full := filepath.ToSlash(filepath.Join(root, filepath.FromSlash(pattern)))
		if want == nil {
			assert.Equal(t, "data.source files: data.path entry 1: glob "+full+": matches no file", loadError(t, filesIn(full)))
			continue
		}
		assert.Equal(t, want, loadTexts(t, full), pattern)
	}
	t.Chdir(root)
	assert.Equal(t, []string{"1", "2"}, loadTexts(t, "*.txt"))
	assert.Equal(t, []string{"4"}, loadTexts(t, "./s/*"))
	assert.Equal(t, []string{"4", "5", "6"}, loadTexts(t, "s"))
}

// Each ** may stand for any number of names; trying all combinations would take too long.
func TestGlobsOfManyStarsEnd(t *testing.T) {
	deep := strings.Split(strings.Repeat("a/", 200)+"b", "/")
	stars := strings.Split(strings.Repeat("**/", 200), "/")
	matches := func(parts, names []string) bool {
		matches, _ := matchParts(parts, names)
		return matches
	}
	assert.True(t, matches(append(stars[:200:200], "b"), deep))
	assert.False(t, matches(append(stars[:200:200], "c"), deep))
	assert.False(t, matches(strings.Split(strings.Repeat("**/a/", 150)+"**/a", "/"), deep))
	assert.True(t, matches(strings.Split(strings.Repeat("**/a/", 150)+"**/b", "/"), deep))
	assert.False(t, matches(stars[:200], strings.Split(strings.Repeat("a/", 200)+".b", "/")), "** stands for no hidden name")
}

// A name that looks like a pattern, but names an existing file, is that file.
func TestWildcardInName(t *testing.T) {
	root := writeFiles(t, map[string]string{"[1].txt": "brackets", "1.txt": "x"})
	assert.Equal(t, []string{"brackets"}, loadTexts(t, filepath.Join(root, "[1].txt")))
}

// Names, and so the order and the split, are relative to the given path.
func TestNamesAreRelative(t *testing.T) {
	root := writeFiles(t, map[string]string{"corpus/a/b.txt": "text"})
	for path, want := range map[string]string{"corpus": "a/b.txt", "corpus/a/b.txt": "b.txt", "corpus/*/*.txt": "a/b.txt", "corpus/a/*": "b.txt", "**/*.txt": "corpus/a/b.txt"} {
		files, err := (&fileSource{paths: []string{root + "/" + path}}).Files(t.Context())
		require.NoError(t, err)
		require.Len(t, files, 1)
		assert.Equal(t, want, files[0].Name, path)
	}
}

func TestLinks(t *testing.T) {
	root := writeFiles(t, map[string]string{"real/a.txt": "a", "blobs/b": "b"})
	if err := os.Symlink(filepath.Join(root, "real"), filepath.Join(root, "link")); err != nil {
		t.Skipf("wants symbolic links: %v", err)
	}
	require.NoError(t, os.Symlink(filepath.Join(root, "blobs", "b"), filepath.Join(root, "real", "b.txt")))
	require.NoError(t, os.Symlink(filepath.Join(root, "real"), filepath.Join(root, "real", "loop")))
	assert.Equal(t, []string{"a", "b"}, loadTexts(t, filepath.Join(root, "link")))
	assert.Equal(t, []string{"a", "b"}, loadTexts(t, filepath.Join(root, "link", "*.txt")))
}

// TestAFolderOfShardsIsNoText: a folder of texts is prepared twice, each time into a folder of its
// own, and has the same documents.
func TestAFolderOfShardsIsNoText(t *testing.T) {
	root := writeFiles(t, map[string]string{"a.txt": "a", "sub/b.txt": "b", "sub/meta.json": "{}"})
	options := func(dir string) PrepareOptions {
		return PrepareOptions{Options: filesIn(root), Dir: filepath.Join(root, dir)}
	}
	first, err := prepareWith(t, options("shards"))
	require.NoError(t, err)
	require.EqualValues(t, 3, first.Train.Documents)
	second, err := NewPreparation(t.Context(), options("more"))
	require.NoError(t, err)
	meta, err := second.Run(t.Context())
	require.NoError(t, err)
	assert.Equal(t, first.Train, meta.Train)
	assert.Contains(t, second.Notes(), `data.path: 1 link or folder passed over: "shards" (a folder of token shards)`)
}

// TestLinksAndFoldersThatAreNotRead: they are passed over with a note, also in a glob that could
// match them, and a link out of the folder is followed with one.
func TestLinksAndFoldersThatAreNotRead(t *testing.T) {
	root := writeFiles(t, map[string]string{"in/a.txt": "a", "in/shut/b.txt": "b", "in/.h/c.txt": "c", "elsewhere/d.txt": "d", "elsewhere/e.txt": "e"})
	in := filepath.Join(root, "in")
	link := func(target, name string) {
		if err := os.Symlink(target, filepath.Join(in, name)); err != nil {
			t.Skipf("wants symbolic links: %v", err)
		}
	}
	link("/nowhere/gone.txt", "gone.txt")
	link("nowhere", ".hidden")
	link("loop", "loop")
	link("../elsewhere", "sub")
	link("../elsewhere/d.txt", "d.txt")
	link("a.txt", "again.txt")
	lost := `"gone.txt" (a link to nothing), "loop" (too many levels of symbolic links), `
	shut := filepath.Join(in, "shut")
	require.NoError(t, os.Chmod(shut, 0))
	t.Cleanup(func() { _ = os.Chmod(shut, 0o700) })
	passed, want := `data.path: 4 links and folders passed over: `+lost+`"shut" (permission denied) and 1 more`, []string{"a", "a", "d"}
	if _, err := os.ReadDir(shut); err == nil { // a superuser reads everything
		passed, want = `data.path: 3 links and folders passed over: `+lost+`"sub" (a link to a folder)`, append(want, "b")
	}
	for _, path := range []string{in, in + "/**/*.txt"} {
		c := load(t, filesIn(path))
		assert.Equal(t, want, texts(c.Tokenizer, c.Train), path)
		assert.Equal(t, []string{passed, `data.path: 1 link out of the folder followed: "d.txt"`}, c.Notes, path)
	}
	c := load(t, filesIn(in+"/[a].*"))
	assert.Equal(t, []string{"a"}, texts(c.Tokenizer, c.Train))
	assert.Empty(t, c.Notes, "nothing that was passed over could match")
	assert.Contains(t, loadError(t, filesIn(filepath.Join(in, "gone.txt"))), "gone.txt: no such file or folder", "named itself")
	assert.Contains(t, loadError(t, shardsIn(in+"/*")), "gone.txt: no such file or directory", "a shard is not to be missed")
}

func TestTextIsTakenByteForByte(t *testing.T) {
	text := "crlf\r\n caf\xe9 \ufeff \ufffd"
	root := writeFiles(t, map[string]string{"a.txt": text})
	assert.Equal(t, []string{text}, loadTexts(t, root))
}

// TestByteOrderMarks: what begins a file to say that it is UTF-8 is neither text nor an error.
func TestByteOrderMarks(t *testing.T) {
	const mark, line = "\ufeff", `{"text":"one"}` + "\n"
	root := writeFiles(t, map[string]string{
		"a.txt": mark + "text", "b.jsonl": mark + line + mark + line, "c.json": mark + line + line, "d.jsonl.gz": gzipped(t, mark+line), "e.md.zst": zstded(t, mark+"text"),
		"f.txt": mark, "g": mark + "text", "h.txt": mark + mark,
	})
	assert.Equal(t, []string{"text", "one", "one", "one", "one", "one", "text", "text", mark}, loadTexts(t, root))
	prompts, err := Prompts("p.txt", mark+"first\r\nsecond")
	require.NoError(t, err)
	assert.Equal(t, []string{"first", "second"}, prompts)
	o := separatedFiles(t, map[string]string{"a.txt": mark + "one<|end|>two"})
	c := load(t, o)
	assert.Equal(t, []string{"one", "two"}, texts(c.Tokenizer, c.Train))
	_, err = NewTokenizer(filepath.Join(writeFiles(t, map[string]string{"tokenizer.json": mark + "{}"}), "tokenizer.json"))
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "invalid character")
}

func TestCompressedFiles(t *testing.T) {
	long := strings.Repeat("a long text ", 100_000)
	root := writeFiles(t, map[string]string{"a.txt.gz": gzipped(t, long) + gzipped(t, "second member"), "b.txt.ZST": zstded(t, long)})
	assert.Equal(t, []string{long + "second member", long}, loadTexts(t, root))
}

// TestZstdWindows: a zstd file may have a window of 15 times its size, at least 56 and at most 512
// MiB. A longer one, which would take as much memory, gives an error that says what to do.
func TestZstdWindows(t *testing.T) {
	frame := func(log byte) string { // of one raw block, as zstd --long=LOG writes
		return "\x28\xb5\x2f\xfd\x00" + string([]byte{(log - 10) << 3}) + "\x21\x00\x00" + "text"
	}
	skipped := func(n int) string { // a frame that readers skip
		return "\x50\x2a\x4d\x18" + string(binary.LittleEndian.AppendUint32(nil, uint32(n))) + strings.Repeat("\x00", n)
	}
	for log := byte(10); log <= 31; log++ {
		path := filepath.Join(writeFiles(t, map[string]string{"a.txt.zst": zstded(t, "a ") + frame(log)}), "a.txt.zst")
		if log <= 25 {
			require.Equal(t, []string{"a text"}, loadTexts(t, path))
			continue
		}
		require.Equal(t, path+": want a zstd file with a window of at most 56 MiB, 15 times its size but at least 56 and at most 512 MiB, "+
			"got a longer window, which takes as much memory: decompress it first, by zstd -d --long=31", loadError(t, filesIn(path)))
	}
	large := filepath.Join(writeFiles(t, map[string]string{"a.txt.zst": skipped(9<<20) + zstded(t, "a ") + frame(27)}), "a.txt.zst")
	require.Equal(t, []string{"a text"}, loadTexts(t, large))
	require.EqualValues(t, 512<<20, mostWindow(1<<40))
}

// A compressed file made to fill memory is refused long before it does.
func TestDecompressionIsBounded(t *testing.T) {
	text := strings.Repeat("a", 1<<20)
	for name, packed := range map[string]string{ // gzip's members and zstd's frames are joined by readers
		"a.txt.gz":    strings.Repeat(gzipped(t, text), freeText>>20+1),
		"a.jsonl.zst": zstded(t, `{"text":"`) + strings.Repeat(zstded(t, text), freeText>>20+1) + zstded(t, `"}`),
	} {
		root := writeFiles(t, map[string]string{name: packed})
		message := loadError(t, filesIn(root))
		assert.Contains(t, message, filepath.Join(root, name)+":")
		assert.Contains(t, message, fmt.Sprintf("want at most 67108864 bytes of text in a compressed file of %d bytes (64 MiB, or 100 times its size), got more: ", len(packed)))
		assert.Contains(t, message, "if it is neither, decompress it first")
	}
}

// Text that grows in proportion to its compressed file is accepted, and so is text that is not
// compressed.
func TestDecompressionIsBoundedByTheFilesSize(t *testing.T) {
	block := endless(strings.Repeat("x", 1<<15))
	for _, c := range []struct {
		packed int64
		length int
		ok     bool
	}{{1, freeText, true}, {1, freeText + 1, false}, {1 << 20, 100 << 20, true}, {1 << 20, 100<<20 + 1, false}, {0, 101 << 20, true}} {
		text := &textReader{ctx: t.Context(), r: io.LimitReader(block, int64(c.length)), packed: c.packed}
		_, err := io.Copy(io.Discard, text)
		assert.Equal(t, c.ok, err == nil, "%+v: %v", c, err)
	}
}

// endless reads its text again and again.
type endless string

func (e endless) Read(p []byte) (int, error) { return copy(p, e), nil }

func TestReadingAFileIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	text := &textReader{ctx: ctx, r: endless("text")}
	_, err := io.CopyN(io.Discard, text, 1<<20)
	require.NoError(t, err)
	cancel()
	_, err = io.Copy(io.Discard, text)
	assert.ErrorIs(t, err, context.Canceled)
}

// lfsPointer is what a clone has instead of a file until git lfs pull.
const lfsPointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"

func TestFileErrors(t *testing.T) {
	truncated := gzipped(t, strings.Repeat("text", 100))
	root := writeFiles(t, map[string]string{
		"binary.txt": "text\x00", "gz.txt": gzipped(t, strings.Repeat("x", 10)), "zst.txt": zstded(t, strings.Repeat("\x00", 10)),
		"zip.txt": "PK\x03\x04\x14\x00", "gguf.txt": "GGUF\x03\x00\x00\x00", "xz.txt": "\xfd7zXZ\x00", "lfs.jsonl": lfsPointer, "lfs.jsonl.gz": lfsPointer, "lfs/README": lfsPointer,
		"bad.gz": "plain text", "bad.zst": "plain text", "cut.gz": truncated[:len(truncated)-10],
		"empty/a.txt": "", "none/a.png": "x",
	})
	for name, fragments := range map[string][]string{
		"missing.txt":  {"data.source files: data.path entry 1: ", "missing.txt: no such file or folder; a relative path counts from the folder the program runs in"},
		"binary.txt":   {"binary.txt: want text in UTF-8, got a binary file (NUL at byte 4); UTF-16 has to be converted first"},
		"gz.txt":       {"gz.txt: want text in UTF-8, got a binary file", "it looks compressed by gzip: name it .gz"},
		"zst.txt":      {"zst.txt: want text in UTF-8, got a binary file", "it looks compressed by zstd: name it .zst"},
		"zip.txt":      {"zip.txt: want text in UTF-8, got a binary file (NUL at byte 5); it is a zip archive, as PyTorch's .bin and .pt files are, too: unpack it"},
		"gguf.txt":     {"gguf.txt: want text in UTF-8, got a binary file (NUL at byte 5); it is a GGUF file of llama.cpp's"},
		"xz.txt":       {"xz.txt: want text in UTF-8, got a binary file (NUL at byte 5); it looks compressed by xz: decompress it"},
		"lfs.jsonl":    {"lfs.jsonl: it is a Git LFS pointer to the file that is wanted: run git lfs pull"},
		"lfs.jsonl.gz": {"lfs.jsonl.gz: it is a Git LFS pointer to the file that is wanted: run git lfs pull"},
		"lfs":          {"lfs: no text file in this folder"},
		"bad.gz":       {"bad.gz: want a gzip file, as its extension says: gzip: invalid header"},
		"bad.zst":      {"bad.zst: ", "magic number mismatch"},
		"cut.gz":       {"cut.gz: unexpected EOF"},
		"empty":        {"data.source files: empty corpus: no text in any file of data.path [", "empty]"},
		"none":         {"none: no text file in this folder: want .txt .text .md", "or text without an extension, each optionally with .gz or .zst; name other files by a glob"},
		"[.txt":        {"[.txt: bad glob: syntax error in pattern in \"[.txt\""},
		"no/such/*":    {"data.source files: data.path entry 1: glob ", "no such file or directory"},
	} {
		message := loadError(t, filesIn(filepath.Join(root, filepath.FromSlash(name))))
		for _, fragment := range fragments {
			assert.Contains(t, message, fragment, name)
		}
	}
	assert.Equal(t, "data.path: want files, folders or globs for source files, got none", loadError(t, filesIn()))
	assert.Contains(t, loadError(t, filesIn(filepath.Join(root, "gz.txt"), filepath.Join(root, "missing"))), "data.path entry 2: ")
}

// Of several bad files, the error always concerns the first by name.
func TestFirstErrorIsReported(t *testing.T) {
	files := map[string]string{}
	for _, name := range []string{"m", "n", "o", "p", "q", "r"} {
		files[name+".txt"] = "\x00"
	}
	files["a.txt"] = strings.Repeat("a", 1<<20)
	root := writeFiles(t, files)
	for range 20 {
		o := filesIn(root)
		o.Threads = 4
		assert.Contains(t, loadError(t, o), "m.txt: want text")
	}
}
