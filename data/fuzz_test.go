package data

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/fuzztest"
)

// FuzzTokenizerJSON: a tokenizer.json that is read has ids for any text, which decode to the text,
// or to its NFC.
func FuzzTokenizerJSON(f *testing.F) {
	for _, name := range []string{"gpt2-digits", "llama3", "qwen"} {
		text, err := os.ReadFile(filepath.Join(tokenizerFolder(name), "tokenizer.json"))
		require.NoError(f, err)
		f.Add(text, "the cafe\u0301 <|endoftext|>")
	}
	f.Add([]byte(`{"model": {"type": "BPE"}}`), "")
	written := fuzztest.File(f, "tokenizer.json")
	f.Fuzz(func(t *testing.T, file []byte, text string) {
		path := written(t, file)
		var tokenizer Tokenizer
		var err error
		fuzztest.Bounded(t, len(file), func() { tokenizer, err = NewTokenizer(path) })
		fuzztest.OneLine(t, err)
		if err != nil {
			return
		}
		ids := tokenizer.Encode(nil, text)
		for _, id := range ids {
			require.GreaterOrEqual(t, id, int32(0))
			require.Less(t, int(id), tokenizer.Vocab())
		}
		if bpe := tokenizer.(*bpeTokenizer); bpe.nfc != nil {
			text, _ = bpe.nfc.normalize(text)
		}
		require.Equal(t, text, tokenizer.Decode(ids))
	})
}

// FuzzJSONL: the texts of lines are those that encoding/json reads, where a line is UTF-8.
func FuzzJSONL(f *testing.F) {
	f.Add([]byte("{\"text\": \"a\\u00e9\"}\n\n{\"text\": null}\n{\"x\": 1}"), "text")
	f.Add([]byte("{\"text\": \"a\"}\n{\"x\": 1}"), "text")
	f.Add([]byte("\xef\xbb\xbf{\"message\": {\"text\": \"\xff\"}}\r\n"), "message.text")
	f.Add([]byte(`{"text": "\ud800"}`), "text")
	f.Fuzz(func(t *testing.T, content []byte, field string) {
		var got []string
		var err error
		fuzztest.Bounded(t, len(content), func() {
			got = nil
			texts := textField{path: "x.jsonl", field: field, emit: func(_ int, text string) error { got = append(got, text); return nil }}
			err = diskReader{}.eachObject(bytes.NewReader(content), "x.jsonl", texts.object)
		})
		fuzztest.OneLine(t, err)
		if err != nil || !utf8.Valid(content) || strings.ContainsAny(field, ".") || bytes.Contains(content, []byte("\xef\xbb\xbf")) {
			return
		}
		var want []string
		for _, line := range bytes.Split(content, []byte("\n")) {
			if len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			var object map[string]json.RawMessage
			require.NoError(t, json.Unmarshal(line, &object))
			var text string
			if value, ok := object[field]; ok {
				require.NoError(t, json.Unmarshal(value, &text))
			}
			want = append(want, text)
		}
		require.Equal(t, want, got)
	})
}

// FuzzJSONObjects: whatever lies between objects, reading them ends with each or an error.
func FuzzJSONObjects(f *testing.F) {
	f.Add([]byte(`[{"text": "a"}, {"text": "b"}]`))
	f.Add([]byte("{\"text\": \"a\"}\n{\"text\": [{}]}  {"))
	f.Add([]byte(`{"text": {"text": {"text": "a"}}}`))
	f.Add([]byte(`[{"text": "a"}] 1`))
	f.Fuzz(func(t *testing.T, content []byte) {
		objects := 0
		var err error
		fuzztest.Bounded(t, len(content), func() {
			objects = 0
			in, _ := jsonSniffer{field: "text"}.sniff(bufio.NewReader(bytes.NewReader(content)))
			err = diskReader{}.objects(in, "x.json", func(int, map[string]json.RawMessage) error { objects++; return nil })
		})
		fuzztest.OneLine(t, err)
		require.LessOrEqual(t, objects, bytes.Count(content, []byte("{")))
	})
}

// FuzzCompressed: a damaged .gz or .zst is an error, and what is read of one is what its library
// reads, without a byte order mark.
func FuzzCompressed(f *testing.F) {
	f.Add([]byte(gzippedBytes("some text, some text")), true)
	f.Add([]byte(gzippedBytes("\ufeffsome text")), true)
	encoder, _ := zstd.NewWriter(nil)
	f.Add(encoder.EncodeAll([]byte("some text, some text"), nil), false)
	f.Add([]byte("\x28\xb5\x2f\xfd\xa4\xff\xff\xff\x7f"), false)
	gzipFile, zstdFile := fuzztest.File(f, "x.txt.gz"), fuzztest.File(f, "x.txt.zst")
	f.Fuzz(func(t *testing.T, content []byte, isGzip bool) {
		path := zstdFile(t, content)
		if isGzip {
			path = gzipFile(t, content)
		}
		var text string
		var err error
		fuzztest.Bounded(t, len(content)+1<<20, func() {
			err = diskReader{longest: 1 << 20}.open(t.Context(), path, func(in *bufio.Reader) (err error) {
				text, err = diskReader{longest: 1 << 20}.text(in, path)
				return err
			})
		})
		fuzztest.OneLine(t, err)
		if err != nil || !isGzip {
			return
		}
		r, err := gzip.NewReader(bytes.NewReader(content))
		require.NoError(t, err)
		want, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Equal(t, strings.TrimPrefix(string(want), "\ufeff"), text)
	})
}

func gzippedBytes(text string) string {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return packed.String()
}

// FuzzShard: a file of token shards gives ids of the tokenizer, or an error.
func FuzzShard(f *testing.F) {
	dir := f.TempDir()
	p, err := NewPreparation(f.Context(), PrepareOptions{Options: Options{Source: Files{}, Paths: []string{fuzztest.File(f, "a.txt")(f, []byte("some text"))}, Split: "none"}, Dir: dir})
	require.NoError(f, err)
	_, err = p.Run(f.Context())
	require.NoError(f, err)
	whole, err := os.ReadFile(filepath.Join(dir, "all-00000.tokens"))
	require.NoError(f, err)
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Add([]byte("\x00\x01\x10\x00\x20\x00\x00\x01"))
	written := fuzztest.File(f, "all-00000.tokens")
	f.Fuzz(func(t *testing.T, content []byte) {
		path := written(t, content)
		tokens := 0
		var err error
		fuzztest.Bounded(t, len(content), func() {
			tokens = 0
			source := newShardSource([]string{path}, byteTokenizer{})
			err = source.Read(t.Context(), File{Name: "all-00000.tokens", Disk: path}, nil, func(d Document) error {
				for i := range d.Tokens.Len() {
					require.Less(t, int(d.Tokens.At(i)), byteTokenizer{}.Vocab())
				}
				tokens += d.Tokens.Len()
				return nil
			})
		})
		fuzztest.OneLine(t, err)
		require.LessOrEqual(t, 2*tokens, len(content))
	})
}

// FuzzSeparated: documents are what strings.Split cuts, however the bytes arrive.
func FuzzSeparated(f *testing.F) {
	f.Add("one<|end|>two<|end|>", "<|end|>", uint8(1))
	f.Add("aaab aab", "aab", uint8(2))
	f.Add("\r\na\n--\n\n--", "--", uint8(3))
	f.Fuzz(func(t *testing.T, text, separator string, mode uint8) {
		if separator == "" {
			return
		}
		in := io.Reader(strings.NewReader(text))
		switch mode % 4 {
		case 1:
			in = iotest.OneByteReader(in)
		case 2:
			in = iotest.HalfReader(in)
		case 3:
			in = iotest.DataErrReader(in)
		}
		var got []string
		fuzztest.Bounded(t, len(text), func() {
			require.NoError(t, diskReader{}.separated(in, "x.txt", separator, func(_ int, text string) error { got = append(got, text); return nil }))
		})
		var want []string
		for _, document := range strings.Split(text, separator) {
			if document = strings.Trim(document, "\r\n"); document != "" {
				want = append(want, document)
			}
		}
		require.Equal(t, want, got)
	})
}

// FuzzStreamedText: pieces of a text end where characters do, and join to the text.
func FuzzStreamedText(f *testing.F) {
	f.Add([]byte("a\u00e9\u8a9e\U0001f600"))
	f.Add([]byte("\xf0\x9f\x98 \xe8\xaa\xff"))
	f.Fuzz(func(t *testing.T, text []byte) {
		d := NewStreamDecoder(byteTokenizer{})
		joined := ""
		for _, b := range text {
			piece := d.Next(int32(b))
			require.True(t, utf8.ValidString(piece))
			joined += piece
		}
		joined += d.Flush()
		require.Equal(t, string([]rune(string(text))), joined)
	})
}

// FuzzNFC: normalizing twice is normalizing once, and what changes is counted byte by byte.
func FuzzNFC(f *testing.F) {
	f.Add("cafe\u0301")
	f.Add("\U00010041\u0301e" + strings.Repeat("\u0336", 31))
	f.Add("\u1100\u1161\u11a8\xff\u0344")
	f.Fuzz(func(t *testing.T, text string) {
		once, _ := nfcTables().normalize(text)
		twice, _ := nfcTables().normalize(once)
		require.Equal(t, once, twice)
		require.Equal(t, utf8.ValidString(text), utf8.ValidString(once))
	})
}
