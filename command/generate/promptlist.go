package generate

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/cli"
)

// readList returns the prompts of -prompts: each line that is not empty.
func (p *prompt) readList(ctx context.Context) ([]source, error) {
	text, err := readText(ctx, "-prompts: "+p.list, func() (io.ReadCloser, error) { return os.Open(p.list) }, nil)
	if err != nil {
		return nil, err
	}
	var all []source
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if line == "" {
			continue
		}
		if strings.HasSuffix(p.list, ".jsonl") {
			if line, err = decoded(line); err != nil {
				return nil, cli.Usagef("-prompts: %s:%d: %v", p.list, i+1, err)
			}
		}
		all = append(all, source{text: line})
	}
	if len(all) == 0 {
		return nil, cli.Usagef("-prompts: %s: want a prompt on each line, got nothing", p.list)
	}
	return all, nil
}

// decoded returns the prompt of a line of JSON.
func decoded(line string) (string, error) {
	var text string
	if json.Unmarshal([]byte(line), &text) == nil {
		return text, nil
	}
	var object struct{ Prompt *string }
	if json.Unmarshal([]byte(line), &object) != nil || object.Prompt == nil {
		return "", errors.Errorf(`want a JSON string, or an object with "prompt", got %q`, shortened(line))
	}
	return *object.Prompt, nil
}

// shortened is the beginning of a line, for an error.
func shortened(line string) string {
	const most = 60
	if runes := []rune(line); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return line
}
