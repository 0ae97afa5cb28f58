package report

import (
	"encoding/json"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/check"
)

// DefaultPrompt is the text that a model reads by default.
const DefaultPrompt = "func add(a, b int) int {\n\treturn a + "

// Prompt says what a model reads: a text, or token ids.
type Prompt struct {
	// Text defaults to DefaultPrompt, cut to the number of learned positions if there are any.
	Text string   `yaml:"prompt" help:"let the model read <TEXT>; without, \"func add(a, b int) int {\\n\\treturn a + \""`
	IDs  data.IDs `yaml:"ids" help:"let the model read token ids <1,2,3> instead of -prompt"`
	// BOS tells whether the token that begins documents is read before Text; nil: as the model's
	// tokenizer does (data.ReadsBOS).
	BOS *bool `yaml:"bos" bare:"true" help:"read the token that begins documents before a prompt's text; -bos=false: do not (default: as the tokenizer does)"`
}

// given tells whether there is a text or ids.
func (p Prompt) given() bool { return p.Text != "" || p.IDs != nil }

// Read returns the prompt's ids. It is an error if they are fewer than the least, or more than the
// model has positions for.
func (p Prompt) Read(m *Model, least int) ([]int32, error) {
	ids, err := p.encode(m, least)
	if err != nil {
		return nil, err
	}
	name := "prompt"
	if p.IDs != nil {
		name = "ids"
	}
	return ids, m.checkLength(name, len(ids))
}

// encode returns the ids, however many there are.
func (p Prompt) encode(m *Model, least int) ([]int32, error) {
	switch {
	case p.Text != "" && p.IDs != nil:
		return nil, check.Value("prompt", "a text or token ids", "both")
	case p.IDs != nil:
		return p.IDs, m.checkIDs("ids", p.IDs, least)
	case p.Text != "":
		return m.encode("prompt", p.Text, p.BOS, least)
	case m.Tokenizer == nil:
		return nil, m.wantIDs("ids", "none")
	}
	ids, err := m.encode("prompt", DefaultPrompt, p.BOS, least)
	if m.Spec.Attention.Positions == models.PositionsLearned {
		ids = ids[:min(len(ids), m.Spec.Seq)]
	}
	return ids, err
}

// wantIDs returns the error for a text given to a model without a tokenizer.
func (m *Model) wantIDs(name, got string) error {
	return check.Value(name, "token ids such as 1,2,3, each below "+strconv.Itoa(m.Spec.Vocab), got+": the model has no tokenizer")
}

// encode returns the ids of an option's text. It returns an error if there are fewer than least,
// not counting BOS.
func (m *Model) encode(name, text string, bos *bool, least int) ([]int32, error) {
	if m.Tokenizer == nil {
		return nil, m.wantIDs(name, strconv.Quote(text))
	}
	ids := data.EncodePrompt(m.Tokenizer, text, bos)
	count := len(ids)
	if data.ReadsBOS(m.Tokenizer, text, bos) {
		count--
	}
	if count < least {
		return nil, check.Value(name, "a text of at least "+tokenCount(least), strconv.Quote(text)+" of "+strconv.Itoa(count))
	}
	return ids, m.checkIDs(name, ids, least)
}

// checkIDs returns an error for ids outside the vocabulary, or for fewer than least ids.
func (m *Model) checkIDs(name string, ids []int32, least int) error {
	if len(ids) < least {
		return check.Value(name, "at least "+tokenCount(least), len(ids))
	}
	for i, id := range ids {
		if err := check.Index(name+": token "+strconv.Itoa(i), int(id), m.Spec.Vocab); err != nil {
			return err
		}
	}
	return nil
}

// checkLength returns an error for more tokens than the model has positions for or m.Tokens allows.
func (m *Model) checkLength(name string, n int) error {
	if m.Spec.Attention.Positions == models.PositionsLearned && n > m.Spec.Seq {
		return check.Value(name, "at most "+tokenCount(m.Spec.Seq)+", the model's learned positions", n)
	}
	if m.Tokens > 0 && n > m.Tokens {
		return check.Value(name, "at most "+tokenCount(m.Tokens), n)
	}
	return nil
}

func tokenCount(n int) string {
	if n == 1 {
		return "1 token"
	}
	return strconv.Itoa(n) + " tokens"
}

// Prompts are texts that an analysis averages over: in JSON an array, as a flag the name of a file
// (data.Prompts).
type Prompts []string

// UnmarshalText reads the file with the given name.
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

// UnmarshalText reads the file with the given name.
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
