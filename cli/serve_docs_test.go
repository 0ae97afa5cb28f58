package cli

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/commandline/clitest"
)

// TestServeDocs runs each call of docs/serve.md and compares the keys of its answer with those that
// stand there.
func TestServeDocs(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("wants curl")
	}
	page, err := os.ReadFile("../docs/serve.md")
	require.NoError(t, err)
	run := clitest.Train(t, "train.steps=60")
	url, _ := startServer(t, "-checkpoint", run.Dir, "-name", "quickstart")
	blocks := regexp.MustCompile("(?s)```(\\w+)\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	calls := 0
	for i, block := range blocks {
		if block[1] != "sh" || !strings.HasPrefix(block[2], "curl ") {
			continue
		}
		calls++
		command := strings.ReplaceAll(block[2], "http://127.0.0.1:8080", url)
		require.Contains(t, command, url)
		out, err := exec.Command("sh", "-c", command).Output()
		require.NoError(t, err, command)
		switch kind, want := blocks[i+1][1], blocks[i+1][2]; {
		case kind == "json":
			assert.Equal(t, shape(t, want), shape(t, string(out)), command)
		case kind == "text" && strings.HasPrefix(want, "data: "):
			assert.Equal(t, events(t, want), events(t, string(out)), command)
		case kind == "text":
			assert.Equal(t, want, string(out), command)
		}
	}
	assert.Greater(t, calls, 7)
}

// shape is a JSON text with its values left out: of an array, the first element's.
func shape(t *testing.T, text string) any {
	var v any
	require.NoError(t, json.Unmarshal([]byte(text), &v), text)
	return shapeOf("", v)
}

func shapeOf(key string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		if key == "top_logprobs" {
			return "tokens"
		}
		keys := map[string]any{}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			keys[k] = shapeOf(k, v[k])
		}
		return keys
	case []any:
		if len(v) > 0 {
			return []any{shapeOf(key, v[0])}
		}
	}
	return ""
}

// events are the shapes of a stream's events.
func events(t *testing.T, text string) []any {
	var shapes []any
	for _, line := range strings.Split(text, "\n") {
		data, ok := strings.CutPrefix(line, "data: ")
		switch {
		case data == "[DONE]":
			shapes = append(shapes, data)
		case ok:
			shapes = append(shapes, shape(t, data))
		}
	}
	return shapes
}
