package analyze

import (
	"encoding/json"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/analysis/report"
	"github.com/residua-go/residua/internal/cli"
)

// promptList is the file of prompts that an analysis averages over.
type promptList struct {
	File string `yaml:"prompts" help:"average over the prompts of <FILE>, each line's text; of a .jsonl, each line's string, or its object's \"prompt\""`
}

// read returns the prompts, nil without a file.
func (l promptList) read() ([]string, error) {
	if l.File == "" {
		return nil, nil
	}
	text, err := readList(l.File)
	if err != nil {
		return nil, err
	}
	prompts, err := cli.Prompts(l.File, text)
	return prompts, errors.WithMessage(err, "prompts")
}

// pairList is the file of pairs of prompts that patch averages over.
type pairList struct {
	File string `yaml:"prompts" help:"average over the pairs of prompts of <FILE>, on each line a prompt, a tab, a corrupt one; of a .jsonl, objects with \"prompt\", \"corrupt\" and, if they differ, \"target\" and \"against\""`
}

// read returns the pairs, nil without a file; empty lines are left out.
func (l pairList) read() ([]report.PatchPair, error) {
	if l.File == "" {
		return nil, nil
	}
	text, err := readList(l.File)
	if err != nil {
		return nil, err
	}
	pairs, err := cli.EachPrompt(l.File, "a pair of prompts", text, readPair)
	return pairs, errors.WithMessage(err, "prompts")
}

// readList reads a file of prompts.
func readList(path string) (string, error) {
	const most = 4 << 20 // bytes
	f, err := os.Open(path)
	if err != nil {
		return "", errors.WithMessage(err, "prompts")
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && len(text) > most {
		err = errors.New(path + ": want at most " + strconv.Itoa(most>>20) + " MiB, got more")
	}
	return string(text), errors.WithMessage(err, "prompts")
}

func readPair(line string, isJSON bool) (p report.PatchPair, err error) {
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
