package analyze

import (
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/residua-go/residua/analysis/cache"
	"github.com/residua-go/residua/analysis/report"
	"github.com/residua-go/residua/internal/cli"
)

// promptFlags declares the flags that say what the model reads; note is added to what they say.
func promptFlags(flags *flag.FlagSet, p *report.Prompt, note string) {
	textFlag(flags, &p.Text, "prompt", "let the model read `TEXT`; without, "+strconv.Quote(report.DefaultPrompt)+note)
	idsFlag(flags, &p.IDs, "ids", "let the model read token ids `1,2,3`, in the place of -prompt"+note)
	flags.BoolVar(&p.BOS, "bos", false, "-prompt begins a document: read the token that begins documents before it; without, it is text from the middle of one")
}

// listFlag declares the file of prompts that an analysis averages over.
func listFlag(flags *flag.FlagSet, prompts *[]string) {
	flags.Func("prompts", "average over the prompts of `FILE`, each line's text; of a .jsonl, each line's string, or its object's \"prompt\"", func(path string) error {
		text, err := readList(path)
		if err == nil {
			*prompts, err = cli.Prompts(path, text)
		}
		return cli.Usage(err)
	})
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

// rowsFlag declares how much validation text an analysis averages over.
func rowsFlag(flags *flag.FlagSet, rows *int) {
	countFlag(flags, rows, "rows", 0, 1, "average over `N` rows of the validation text of the model's run, as long as in training; without, a prompt")
}

// onlyWhereMixed is the note on the prompt of an analysis of weights.
const onlyWhereMixed = "; it matters only in streams that mix what was written"

// targetFlags declares the flags that choose a position and a logit there.
func targetFlags(flags *flag.FlagSet, t *report.Target) {
	indexFlag(flags, &t.Token, "token", "look at the model's answer after token `N`, from 0; below 0: from the end; without, after the last")
	textFlag(flags, &t.Target, "target", "look at the logit of token `T`: a text, or an id; without, the likeliest")
}

// againstFlag declares -against for the commands that compare.
func againstFlag(flags *flag.FlagSet, t *report.Target) {
	textFlag(flags, &t.Against, "against", "subtract the logit of token `T`: a text, or an id")
}

// placeFlags declares the flags that choose a layer and a head.
func placeFlags(flags *flag.FlagSet, p *report.Place) {
	indexFlag(flags, &p.Layer, "layer", "show layer `L` alone, from 0; below 0: from the last; without, all")
	indexFlag(flags, &p.Head, "head", "show head `H` alone, from 0; below 0: from the last; without, all")
}

// topFlag declares how long a list of the largest is.
func topFlag(flags *flag.FlagSet, top *int, usage string) { countFlag(flags, top, "top", 20, 1, usage) }

// seedFlag declares the seed of what is drawn.
func seedFlag(flags *flag.FlagSet, seed *uint64, what string) {
	flags.Uint64Var(seed, "seed", 1, "seed "+what+" with `N`")
}

// maxCount bounds what is drawn or repeated again and again.
const maxCount = 1_000_000

// countFlag declares a whole number of at least least.
func countFlag(flags *flag.FlagSet, n *int, name string, usual, least int, usage string) {
	*n = usual
	flags.Var(&count{n, least}, name, usage)
}

// count is a flag's whole number.
type count struct {
	n     *int
	least int
}

// String shows the value.
func (c *count) String() string {
	if c.n == nil {
		return ""
	}
	return strconv.Itoa(*c.n)
}

// Get returns the value.
func (c *count) Get() any { return *c.n }

// Set reads the value.
func (c *count) Set(value string) (err error) {
	if *c.n, err = strconv.Atoi(value); err != nil {
		return err
	}
	if *c.n < c.least || *c.n > maxCount {
		return cli.Usagef("want %d to %d, got %d", c.least, maxCount, *c.n)
	}
	return nil
}

// textFlag declares a text that is not empty.
func textFlag(flags *flag.FlagSet, text *string, name, usage string) {
	flags.Func(name, usage, func(value string) error {
		if value == "" {
			return cli.Usagef("want a text, got an empty one")
		}
		*text = value
		return nil
	})
}

// idsFlag declares a list of token ids.
func idsFlag(flags *flag.FlagSet, ids *[]int32, name, usage string) {
	flags.Func(name, usage, func(value string) (err error) {
		if *ids, err = cli.ParseIDs(value, math.MaxInt32); err == nil && len(*ids) == 0 {
			err = errors.New("want whole numbers such as 1,2,3, got none")
		}
		return cli.Usage(err)
	})
}

// indexFlag declares the number of one of several.
func indexFlag(flags *flag.FlagSet, index *report.Index, name, usage string) {
	flags.Func(name, usage, func(value string) error {
		n, err := strconv.Atoi(value)
		if err != nil {
			return cli.Usagef("want a whole number, got %q", value)
		}
		*index = report.At(n)
		return nil
	})
}

// atFlag declares entries of an activation.
func atFlag(flags *flag.FlagSet, at *cache.At, name, usage string) {
	flags.Func(name, usage, func(value string) error {
		*at = cache.At{}
		for _, choice := range strings.Split(value, ",") {
			axis, index, _ := strings.Cut(strings.TrimSpace(choice), "=")
			n, err := strconv.Atoi(index)
			if err != nil || axis == "" {
				return cli.Usagef("want AXIS=N,..., such as head=3,token=5, got %q", value)
			}
			(*at)[axis] = n
		}
		return nil
	})
}

// shareFlag declares a number above 0, at most 1.
func shareFlag(flags *flag.FlagSet, share *float64, name string, usual float64, usage string) {
	*share = usual
	flags.Func(name, usage, func(value string) (err error) {
		if *share, err = strconv.ParseFloat(value, 64); err != nil || !(*share > 0 && *share <= 1) {
			return cli.Usagef("want a number above 0, at most 1, got %q", value)
		}
		return nil
	})
}

// notFlag declares a flag that is true by default, of an option that says the opposite.
func notFlag(flags *flag.FlagSet, not *bool, name, usage string) {
	flags.BoolFunc(name, usage, func(value string) error {
		yes, err := strconv.ParseBool(value)
		if *not = !yes; err != nil {
			return cli.Usagef("want true or false, got %q", value)
		}
		return nil
	})
}

// numberFlag declares a finite number, which may be 0 if zero is set.
func numberFlag(flags *flag.FlagSet, x *float64, name string, zero bool, usage string) {
	flags.Func(name, usage, func(value string) (err error) {
		switch *x, err = strconv.ParseFloat(value, 64); {
		case err != nil || math.IsInf(*x, 0) || math.IsNaN(*x):
			return cli.Usagef("want a number, got %q", value)
		case *x == 0 && !zero:
			return cli.Usagef("want a number other than 0, got %q", value)
		}
		return nil
	})
}
