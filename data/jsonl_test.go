package data

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestJSONL(t *testing.T) {
	long := strings.Repeat("y", 3<<20)
	root := writeFiles(t, map[string]string{"a.jsonl": `{"text":"one","id":1}` + "\r\n" +
		"\n  \n" + `{"id":{"text":"x"},"text":"tab\t\u00e9\ud83d\ude42"}` + "\n" + `{"text":""}` + "\n" + `{"text":"` + long + `"}`})
	assert.Equal(t, []string{"one", "tab\té🙂", long}, loadTexts(t, root))
}

func TestJSONLField(t *testing.T) {
	o := filesIn(writeFiles(t, map[string]string{"a.jsonl": `{"text":"x","body":"y"}`}))
	o.TextField = "body"
	c := load(t, o)
	assert.Equal(t, []string{"y"}, texts(c.Tokenizer, c.Train))
}

// Documents are named "file:line", lines in numeric order.
func TestJSONLNames(t *testing.T) {
	root := writeFiles(t, map[string]string{"s/a.jsonl": strings.Repeat("{\"text\":\"t\"}\n", 2) + "\n" + strings.Repeat("{\"text\":\"t\"}\n", 9)})
	src := &fileSource{paths: []string{root}, field: "text"}
	var names []string
	require.NoError(t, eachDocument(t.Context(), src, byteTokenizer{}, 2, func(d Document) error {
		names = append(names, d.Name)
		return nil
	}))
	assert.Equal(t, strings.Fields("s/a.jsonl:1 s/a.jsonl:2 s/a.jsonl:4 s/a.jsonl:5 s/a.jsonl:6 s/a.jsonl:7 s/a.jsonl:8 s/a.jsonl:9 s/a.jsonl:10 s/a.jsonl:11 s/a.jsonl:12"), names)
}

func TestJSONLErrors(t *testing.T) {
	for text, fragments := range map[string][]string{
		`{"text":"a"}` + "\n\n" + `{"text":`:      {"a.jsonl:3: invalid JSON: want one object a line: unexpected end of JSON input"},
		`["a"]`:                                   {"a.jsonl:1: invalid JSON: want one object a line: ", "cannot unmarshal array"},
		`{"text":"a"}{"text":"b"}`:                {"a.jsonl:1: invalid JSON", "after top-level value"},
		"\n" + `{"title":"a","b":{"c":{},"d":1}}`: {`a.jsonl:2: want the text in field "text", got an object with the fields [b.c, b.d, title]: name it in data.text_field, or by -text-field`},
		`null`:           {`a.jsonl:1: want the text in field "text", got an object with the fields []`},
		`{"text":["a"]}`: {`a.jsonl:1: field "text": want a string, got ["a"]`},
	} {
		root := writeFiles(t, map[string]string{"a.jsonl": text})
		message := loadError(t, filesIn(root))
		for _, fragment := range fragments {
			assert.Contains(t, message, fragment)
		}
		assert.Contains(t, message, filepath.Join(root, "a.jsonl"))
	}
	assert.Equal(t, "a.jsonl:1: want text, got a NUL at byte 1: it is a binary file or damaged; take it out",
		loadError(t, filesIn(writeFiles(t, map[string]string{"a.jsonl": `{"text":"a\u0000b"}`}))))
	cut := gzipped(t, strings.Repeat("{\"text\":\"t\"}\n", 3))
	root := writeFiles(t, map[string]string{"a.jsonl.gz": cut[:len(cut)-8]})
	assert.Contains(t, loadError(t, filesIn(root)), "a.jsonl.gz:4: unexpected EOF")
}
