package chat

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var now = time.Date(2026, 3, 5, 14, 7, 9, 0, time.UTC)

// TestTemplates: templates of the constructs that published ones use give, to the byte, what jinja2
// gives in transformers' environment (testdata/make.py), and errors where it raises one.
func TestTemplates(t *testing.T) {
	var conversations map[string]struct {
		Messages, Tools json.RawMessage
		Generation      bool
	}
	var want map[string]string
	for name, into := range map[string]any{"conversations": &conversations, "rendered": &want} {
		text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, into))
	}
	require.Len(t, want, 36)
	for name, text := range want {
		file, conversation, _ := strings.Cut(name, "/")
		template, err := os.ReadFile(filepath.Join("testdata", file+".jinja"))
		require.NoError(t, err)
		c := conversations[conversation]
		got, err := Render(Request{string(template), c.Messages, c.Tools, c.Generation, map[string]string{"bos_token": "<s>", "eos_token": "</s>"}, now})
		if strings.HasPrefix(text, "error: ") {
			assert.Error(t, err, name)
			continue
		}
		if err != nil {
			t.Errorf("%s: %.300v", name, err.Error())
		} else {
			assert.Equal(t, text, got, name)
		}
	}
}

// TestSpaceBeforeATag: it is stripped if the line has nothing before it, and otherwise kept.
func TestSpaceBeforeATag(t *testing.T) {
	for template, want := range map[string]string{
		"{{ 'a' }} {% if true %}x{% endif %}":                                      "a x",
		"{% for i in [1, 2] %}{{ i }} {% endfor %}.":                               "1 2 .",
		"{% if true %} {% endif %}.":                                               " .",
		"{{ 'a' }} \t{# a comment #}b":                                             "a \tb",
		"{{ 'a' }} {%- if true %}x{% endif %}{{ 'b' -}} {% if true %}y{% endif %}": "axby",
		"{{ 'a' }} {%+ if true %}x{% endif %}":                                     "a x",
		"{% if true %}\n  {% if true %}x{% endif %}\n  {% endif %}y":               "xy",
		"a\n  {% if true %}x {% endif %}y":                                         "a\nx y",
	} {
		text, err := Render(Request{Template: template, Messages: []byte("[]"), Now: now})
		require.NoError(t, err)
		assert.Equal(t, want, text, template)
	}
}

// TestJSONOfEscapes: tojson writes line separators as they are and keeps a text that looks like
// their escapes, as Python's json.dumps with ensure_ascii=False does.
func TestJSONOfEscapes(t *testing.T) {
	for _, content := range []string{`\u2028`, `a\u2029b`, `\\u2028`, "\\\u2028", "\u2028\u2029"} {
		messages, err := json.Marshal([]map[string]string{{"content": content}})
		require.NoError(t, err)
		text, err := Render(Request{Template: "{{ messages[0].content|tojson }}", Messages: messages, Now: now})
		require.NoError(t, err)
		assert.Equal(t, `"`+strings.ReplaceAll(content, `\`, `\\`)+`"`, text)
	}
}
