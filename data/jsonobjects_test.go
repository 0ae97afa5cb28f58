package data

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestJSONObjects: the texts of objects are read whatever a file's name, one after another or in an
// array; JSON of another kind is a text.
func TestJSONObjects(t *testing.T) {
	const line = `{"text":"one","id":{"text":"x"}}` + "\n"
	long := `{"text":"` + strings.Repeat("y", 3<<20) + `"}` + "\n"
	pretty := "{\n \"text\": \"one\",\n \"id\": [1]\n}\n"
	big := `{"id":[` + strings.Repeat("1,\n", sniffBytes) + "1]}\n"
	for _, c := range []struct {
		name, content string
		texts         int // -1: the content is the text
	}{
		{"a.ndjson", line + line, 2},
		{"a.NDJSON.gz", gzipped(t, line+line), 2},
		{"a.jsonlines", line, 1},
		{"a.json", line + "\n" + line + `{"text":null}`, 2},
		{"a.json.gz", gzipped(t, line+line+line), 3},
		{"a.json.zst", zstded(t, line), 1},
		{"a.json", strings.TrimSpace(line), 1},
		{"a.json", long + line, 2},
		{"a.json", long, 1},
		{"a.json", pretty, 1},
		{"a.json", pretty + pretty, 2},
		{"a.json", "[" + line + "," + line + "]", 2},
		{"a.json", " \n[\n" + pretty + ",\n" + pretty + "]\n\n", 2},
		{"a.json", "[" + long + "," + line + "]", 2},
		{"a.txt", line + line, 2},
		{"part-00000", line + line, 2},
		{"part-00000.gz", gzipped(t, line+line), 2},
		{"a.txt", line, -1},
		{"a.txt", "{a} {b}", -1},
		{"a.json", `{"name":"x","text":["one"]}`, -1},
		{"a.json", big, -1},
		{"a.json", `["text","one"]`, -1},
		{"a.json", `[`, -1},
		{"a.json", `{"text":"one"`, -1},
		{"a.json", `[{"name":"x"},{"name":"y"}]`, -1},
		{"a.json", `{"text":"one"} // a comment`, 0},
		{"a.json", `[]`, -1},
	} {
		root := writeFiles(t, map[string]string{c.name: c.content})
		about := fmt.Sprintf("%s %.60s", c.name, c.content)
		switch c.texts {
		case -1:
			require.Equal(t, []string{c.content}, loadTexts(t, root), about)
		case 0:
			require.Contains(t, loadError(t, filesIn(root)), c.name+":2: invalid character", about)
		default:
			require.Len(t, loadTexts(t, root), c.texts, about)
		}
	}
}

// TestJSONObjectsWithoutTheField: lines of objects are never one text, nor is an array that is
// named; in a folder, which may be one of programs, an array of other objects is.
func TestJSONObjectsWithoutTheField(t *testing.T) {
	const want = `:1: want the text in field "text", got an object with the fields [body]`
	array := `[{"body":"b"},{"body":"c"}]`
	root := writeFiles(t, map[string]string{"a.json": array})
	assert.Equal(t, []string{array}, loadTexts(t, root))
	for _, path := range []string{"a.json", "*.json"} {
		assert.Contains(t, loadError(t, filesIn(filepath.Join(root, path))), "a.json"+want)
	}
	assert.Contains(t, loadError(t, filesIn(writeFiles(t, map[string]string{"b.json": `{"body":"b"}` + "\n" + `{"body":"c"}`}))), "b.json"+want)
	assert.Contains(t, loadError(t, filesIn(writeFiles(t, map[string]string{"b.json.gz": gzipped(t, array)}))), "b.json.gz"+want)
	o := filesIn(root)
	o.TextField = "body"
	c := load(t, o)
	assert.Equal(t, []string{"b", "c"}, texts(c.Tokenizer, c.Train))
}

func TestJSONObjectErrors(t *testing.T) {
	const one = `{"text":"one"}`
	for content, want := range map[string]string{
		one + one + `{"text":`:              "a.json:3: unexpected EOF",
		one + one + "x":                     "a.json:3: invalid character 'x'",
		one + one + "]":                     "a.json:3: invalid character ']'",
		one + "\n" + one + "[1]":            "a.json:3: json: cannot unmarshal array",
		"[" + one + "," + one:               "a.json:3: unexpected EOF",
		"[" + one + "," + one + "] 1":       "a.json:3: want JSON objects, one after another or in one array, got something else",
		"[" + one + "," + one + "," + "1]":  "a.json:3: json: cannot unmarshal number",
		"[" + one + ` {"text":"two"}]`:      "a.json:2: ",
		one + `{"text":1}`:                  `a.json:2: field "text": want a string, got 1`,
		one + `{"text":"\u0000"}`:           "a.json:2: want text, got a NUL at byte 0",
		one + "{\"text\":\"two\"} \x00":     "a.json:",
		"[" + one + ",{\"text\":\"\x00\"}]": "want text in UTF-8, got a binary file (NUL at byte ",
	} {
		assert.Contains(t, loadError(t, filesIn(writeFiles(t, map[string]string{"a.json": content}))), want, content)
	}
	o := filesIn(writeFiles(t, map[string]string{"a.json": one + "\n" + `{"text":"` + strings.Repeat("y", 1<<20) + `"}`}))
	o.longest = 1 << 16
	_, err := Load(t.Context(), o)
	assert.ErrorContains(t, err, "a.json:2: want documents of at most 65536 bytes")
}
