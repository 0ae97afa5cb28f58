package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestGenerateChat: generate -chat answers a message put into the template of an exported model's
// folder, as generate continues the template's text, and refuses models without one.
func TestGenerateChat(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "exported")
	got := call("convert", "-checkpoint", "../examples/embedded/model.safetensors", "-format", "huggingface", "-out", folder)
	require.Zero(t, got.Code, got.Stderr)
	call("generate", "-checkpoint", folder, "-chat", "-prompt", "a").Refused(t, "-chat: want a model with a tokenizer and a chat template")
	call("generate", "-chat", "-ids", "1", "-checkpoint", folder).Refused(t, "-chat: want a prompt as text, -prompt, -prompt-file or -prompts, got -ids")

	path := filepath.Join(folder, "tokenizer_config.json")
	config := map[string]any{}
	text, err := os.ReadFile(path)
	if err == nil {
		require.NoError(t, json.Unmarshal(text, &config))
	}
	config["chat_template"] = "{% for m in messages %}// {{ m.content }}\n{% endfor %}{{ eos_token if false else 'func ' }}"
	text, err = json.Marshal(config)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, text, 0o644))
	answer := call("generate", "-checkpoint", folder, "-chat", "-prompt", "Len is", "-tokens", "12", "-temperature", "0")
	require.Zero(t, answer.Code, answer.Stderr)
	plain := call("generate", "-checkpoint", folder, "-prompt", "// Len is\nfunc ", "-bos=false", "-tokens", "12", "-temperature", "0")
	require.Zero(t, plain.Code, plain.Stderr)
	assert.Equal(t, plain.Stdout, "// Len is\nfunc "+answer.Stdout)
	answer = call("generate", "-checkpoint", folder, "-chat", "-prompt", "Len is", "-tokens", "12", "-temperature", "0", "-json")
	require.Zero(t, answer.Code, answer.Stderr)
	assert.Contains(t, answer.Stdout, `"prompt":"// Len is\nfunc "`)

	config["chat_template"] = "{{ raise_exception('roles must alternate') }}"
	text, err = json.Marshal(config)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, text, 0o644))
	call("generate", "-checkpoint", folder, "-chat", "-prompt", "a").Refused(t, "roles must alternate")
}
