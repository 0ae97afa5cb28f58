package chat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReadTemplate: a folder's template is its chat_template.jinja, or the one in
// tokenizer_config.json, of several the default.
func TestReadTemplate(t *testing.T) {
	for _, c := range []struct {
		config, file, want string
	}{
		{"", "", ""},
		{`{"chat_template": null, "bos_token": "<s>"}`, "", ""},
		{`{"chat_template": "one", "bos_token": {"content": "<s>", "lstrip": false}, "eos_token": "</s>"}`, "", "one"},
		{`{"chat_template": [{"name": "tool_use", "template": "x"}, {"name": "default", "template": "two"}]}`, "", "two"},
		{`{"chat_template": "one", "bos_token": "<s>", "eos_token": "</s>"}`, "three", "three"},
		{`{"chat_template": "one", "bos_token": "<s>", "eos_token": "</s>"}` + strings.Repeat(" ", 1_200_000), "", "one"}, // as long as Gemma 3's
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"tokenizer_config.json": c.config, "chat_template.jinja": c.file} {
			if text != "" {
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
			}
		}
		got, err := ReadTemplate(dir)
		require.NoError(t, err)
		if c.want == "" {
			assert.Nil(t, got)
			continue
		}
		assert.Equal(t, c.want, got.Text)
		if strings.Contains(c.config, "eos_token") {
			assert.Equal(t, map[string]string{"bos_token": "<s>", "eos_token": "</s>"}, got.Tokens)
		}
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tokenizer_config.json"), []byte("[1]"), 0o644))
	_, err := ReadTemplate(dir)
	assert.ErrorContains(t, err, "tokenizer_config.json")
}
