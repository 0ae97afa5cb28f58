package chat

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const serveVariable = "RESIDUA_TEST_RENDER"

func TestMain(m *testing.M) {
	if os.Getenv(serveVariable) != "" {
		if err := Serve(os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestHostileTemplates: templates that never end, take memory without end, nest without end, read
// files or write too much are errors within two seconds, and the next one is rendered.
func TestHostileTemplates(t *testing.T) {
	t.Setenv(serveVariable, "1")
	r := Renderer{Command: []string{os.Args[0]}}
	render := func(template string) (string, error) {
		return r.Render(t.Context(), Request{Template: template, Messages: json.RawMessage(`[{"role": "user", "content": "hi"}]`), Now: now})
	}
	for template, want := range map[string]string{
		`{% for a in range(999) %}{% for b in range(999) %}{% for c in range(999) %}{% endfor %}{% endfor %}{% endfor %}`: "want a text within 1s",
		`{% for a in range(1000000000) %}{% endfor %}`:                                                                    "want (at most 256 MiB of memory|a text within 1s)", // gonja keeps the whole range
		`{% set x = namespace(v='aaaaaaaaaaaaaaaa') %}{% for a in range(60) %}{% set x.v = x.v + x.v %}{% endfor %}`:      "want (at most 256 MiB of memory|a text within 1s)",
		`{% for a in range(1100000) %}a{% endfor %}`:                                                                      "want (at most 1048576 bytes of text|a text within 1s)",
		`{% macro m(n) %}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}`:                                                          "its process ended without an answer|want a text within 1s",
		`{% include "/etc/passwd" %}`:                                                                                     "a chat template stands alone",
		`{% extends "/etc/passwd" %}`:                                                                                     "a chat template stands alone",
		`{% import "/etc/passwd" as p %}`:                                                                                 "a chat template stands alone",
		`{{ raise_exception('no ' ~ messages[0].role) }}`:                                                                 "no user",
		`{% if %}`:                         "chat template: ",
		strings.Repeat("a", MaxTemplate+1): "want at most 65536 bytes, got 65537",
	} {
		began := time.Now()
		_, err := render(template)
		if assert.Error(t, err, "%.60s", template) {
			assert.Regexp(t, want, err.Error(), "%.60s", template)
			assert.NotContains(t, err.Error(), "\n")
			assert.Less(t, len(err.Error()), 400)
		}
		assert.Less(t, time.Since(began), 2*answerTime)
	}
	text, err := render(`{% for m in messages %}{{ m.role }}: {{ m.content }}{% endfor %}`)
	require.NoError(t, err)
	assert.Equal(t, "user: hi", text)
}
