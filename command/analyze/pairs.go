package analyze

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/residua-go/residua/analysis/report"
	"github.com/residua-go/residua/internal/cli"
)

// pairsFlag declares the file of pairs of prompts that patch averages over.
func pairsFlag(flags *flag.FlagSet, pairs *[]report.PatchPair) {
	usage := "average over the pairs of prompts of `FILE`, on each line a prompt, a tab, a corrupt one; of a .jsonl, objects with \"prompt\", \"corrupt\" and, if they differ, \"target\" and \"against\""
	flags.Func("prompts", usage, func(path string) error {
		text, err := readList(path)
		if err == nil {
			*pairs, err = readPairs(path, text)
		}
		return cli.Usage(err)
	})
}

// readPairs reads the lines of a file; empty ones are left out.
func readPairs(path, text string) ([]report.PatchPair, error) {
	var pairs []report.PatchPair
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if line == "" {
			continue
		}
		pair, err := readPair(line, strings.HasSuffix(path, ".jsonl"))
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, i+1, err)
		}
		pairs = append(pairs, pair)
	}
	if len(pairs) == 0 {
		return nil, fmt.Errorf("%s: want a pair of prompts on each line, got nothing", path)
	}
	return pairs, nil
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
