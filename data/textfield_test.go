package data

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRecordsWithoutText: they are left out and counted, whether the text is null, missing or
// empty.
func TestRecordsWithoutText(t *testing.T) {
	o := filesIn(writeFiles(t, map[string]string{"a.jsonl": `{"id":4}
{"text":"one"}
{"text":null}

{"text":""}
{"text":"two"}`}))
	c := load(t, o)
	assert.Equal(t, []string{"one", "two"}, texts(c.Tokenizer, c.Train))
	assert.Contains(t, c.Notes, "data.path: 3 records without a text left out")
	p := PrepareOptions{Options: o, Dir: t.TempDir(), Dedupe: true}
	p.Tokenizer = trainedPrefix + "257"
	meta, err := prepareWith(t, p)
	require.NoError(t, err)
	assert.EqualValues(t, 3, meta.Blank)
	assert.EqualValues(t, 2, meta.Train.Documents)
	assert.Zero(t, meta.Duplicates)

	c = load(t, filesIn(writeFiles(t, map[string]string{"a.jsonl": `{"text":"one"}`})))
	assert.NotContains(t, c.Notes, "without a text")
	assert.Contains(t, loadError(t, filesIn(writeFiles(t, map[string]string{"a.jsonl": `{"text":null}`}))), "empty corpus")
}

func TestNestedField(t *testing.T) {
	for field, want := range map[string][]string{
		"message.text":   {"one", "two"},
		"message.a.b.c":  {"both"},
		"message.a.b":    {"flat"},
		"message.list.0": nil,
		"message":        nil,
		"message.":       nil,
		".":              nil,
	} {
		o := filesIn(writeFiles(t, map[string]string{"a.jsonl": `{"message":{"text":"one","list":["x"],"a.b":{"c":"both"}}}
{"message.text":"two","message":{"text":"other","a":{"b":"flat"}}}
{"message":null}`}))
		o.TextField = field
		if want == nil {
			assert.Contains(t, loadError(t, o), "a.jsonl:1: ", field)
			continue
		}
		if field == "message.a.b" { // an object in the first line
			o = filesIn(writeFiles(t, map[string]string{"a.jsonl": `{"message":{"a":{"b":"flat"}}}`}))
			o.TextField = field
		}
		c := load(t, o)
		assert.Equal(t, want, texts(c.Tokenizer, c.Train), field)
	}
}

// TestBytesInJSONThatAreNotUTF8: they are kept, and the document is counted, as in a text file.
func TestBytesInJSONThatAreNotUTF8(t *testing.T) {
	o := filesIn(writeFiles(t, map[string]string{"l.jsonl": "{\"text\": \"caf\xe9 au lait\"}\n{\"text\": \"plain\"}\n{\"text\": \"\\u00e9\\\"\\\\\xff\\ud83d\\ude42\\n\xe2\\u20ac\"}", "m.json": "[{\"text\":\"\xe9\"}]"}))
	want := []string{"caf\xe9 au lait", "plain", "é\"\\\xff🙂\n\xe2€", "\xe9"}
	c := load(t, o)
	assert.Equal(t, want, texts(c.Tokenizer, c.Train))
	meta, err := prepareWith(t, PrepareOptions{Options: o, Dir: t.TempDir()})
	require.NoError(t, err)
	assert.EqualValues(t, 3, meta.NotUTF8)
}

// TestPromptsInJSONThatAreNotUTF8: as for documents.
func TestPromptsInJSONThatAreNotUTF8(t *testing.T) {
	got, err := Prompts("p.jsonl", "\"caf\xe9\"\n{\"prompt\":\"\xe9\\n\"}\n \"plain\"\n")
	require.NoError(t, err)
	assert.Equal(t, []string{"caf\xe9", "\xe9\n", "plain"}, got)
	for _, line := range []string{"null", "1", "{}", `{"prompt":null}`, `{"prompt":["a"]}`, `["a"]`} {
		_, err := Prompts("p.jsonl", line)
		assert.ErrorContains(t, err, `p.jsonl:1: want a JSON string, or an object with "prompt", got `, line)
	}
}

// Strings with escapes are what encoding/json makes of them, apart from bytes that are not UTF-8.
func TestJSONTextAgreesWithTheStandardLibrary(t *testing.T) {
	parts := []string{"a", "é", "\\n", "\\\\", "\\\"", "\\u0041", "\\ud83d\\ude42", "\\ud83d", "\\/", " ", "\ufffd"}
	for range 2000 {
		literal := `"`
		for range rand.IntN(8) {
			literal += parts[rand.IntN(len(parts))]
		}
		var want string
		require.NoError(t, json.Unmarshal([]byte(literal+`"`), &want))
		got, err := jsonText([]byte(literal + "\xff\""))
		require.NoError(t, err)
		require.Equal(t, want+"\xff", got, literal)
	}
}
