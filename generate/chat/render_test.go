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
