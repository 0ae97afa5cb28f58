package report

import (
	"encoding/json"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
)

// Prompts are texts that an analysis averages over: in JSON an array, as a flag the name of a file
// (data.Prompts).
type Prompts []string

// UnmarshalText reads the file of a name.
func (p *Prompts) UnmarshalText(name []byte) error {
	text, err := readList(string(name))
	if err == nil {
		*p, err = data.Prompts(string(name), text)
	}
	return err
}

// PatchPairs are pairs of prompts that Patch averages over: in JSON an array of objects, as a flag
// the name of a file, on each line a prompt, a tab and a corrupt one, or of a .jsonl an object.
type PatchPairs []PatchPair

// UnmarshalText reads the file of a name.
func (p *PatchPairs) UnmarshalText(name []byte) error {
	text, err := readList(string(name))
	if err == nil {
		*p, err = data.EachPrompt(string(name), "a pair of prompts", text, readPair)
	}
	return err
}

// readList reads a file of prompts.
func readList(path string) (string, error) {
	const most = 4 << 20 // bytes
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && len(text) > most {
		err = errors.New(path + ": want at most " + strconv.Itoa(most>>20) + " MiB, got more")
	}
	return string(text), err
}

func readPair(line string, isJSON bool) (p PatchPair, err error) {
	if isJSON {
		if err = json.Unmarshal([]byte(line), &p); err != nil || p.Prompt == "" || p.Corrupt == "" {
			err = errors.New(`want an object with texts "prompt" and "corrupt"`)
		}
		return p, err
	}
	p.Prompt, p.Corrupt, _ = strings.Cut(line, "\t")
	if p.Prompt == "" || p.Corrupt == "" || strings.Contains(p.Corrupt, "\t") {
		err = errors.New("want a prompt, a tab and a corrupt prompt; texts with tabs go into a .jsonl")
	}
	return p, err
}
