package data

import (
	"encoding/json"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/regular"
)

// Prompts returns the prompts in a list, the content of the file name: each line that is not empty
// or, if the file is a .jsonl, each line's string or its object's "prompt". Errors begin with the
// name and the line.
func Prompts(name, text string) ([]string, error) {
	return EachPrompt(name, "a prompt", text, func(line string, isJSON bool) (string, error) {
		if isJSON {
			return decoded(line)
		}
		return line, nil
	})
}

// EachPrompt is like Prompts, but converts each nonempty line by read. In errors, what
// describes what a line should hold.
func EachPrompt[T any](name, what, text string, read func(line string, isJSON bool) (T, error)) ([]T, error) {
	if what := regular.Kind([]byte(text)); what != "" {
		return nil, errors.Errorf("%s: want text, but %s", name, what)
	}
	var all []T
	for i, line := range strings.Split(strings.TrimPrefix(text, regular.ByteOrderMark), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if line == "" {
			continue
		}
		one, err := read(line, strings.HasSuffix(name, ".jsonl"))
		if err != nil {
			return nil, errors.WithMessagef(err, "%s:%d", name, i+1)
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		return nil, errors.Errorf("%s: want %s on each line, got nothing", name, what)
	}
	return all, nil
}

// decoded returns the prompt in a line of JSON.
func decoded(line string) (string, error) {
	value := json.RawMessage(strings.TrimSpace(line))
	var object map[string]json.RawMessage
	if json.Unmarshal(value, &object) == nil {
		value = object["prompt"]
	}
	text, err := jsonText(value)
	if err != nil || string(value) == "null" {
		return "", errors.Errorf(`want a JSON string, or an object with "prompt", got %q`, shortened(line))
	}
	return text, nil
}

// shortened returns the beginning of a line, for an error.
func shortened(line string) string {
	const most = 60
	if runes := []rune(line); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return line
}
