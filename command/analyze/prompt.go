package analyze

import (
	"flag"
	"strconv"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

// defaultPrompt is what a model reads unless it is told otherwise.
const defaultPrompt = "func add(a, b int) int {\n\treturn a + "

// text is a flag of which the call may say nothing.
type text struct {
	value string
	given bool
}

// String shows the value.
func (t *text) String() string {
	if t.value == "" {
		return ""
	}
	return strconv.Quote(t.value)
}

// Set takes the value over.
func (t *text) Set(value string) error {
	t.value, t.given = value, true
	return nil
}

// prompt is the flags that say what the model reads.
type prompt struct {
	text, ids text
	bos       bool
	anyLength bool // learned positions set no limit
}

func (p *prompt) flags(flags *flag.FlagSet) {
	p.text.value = defaultPrompt
	flags.Var(&p.text, "prompt", "let the model read `TEXT`")
	flags.Var(&p.ids, "ids", "let the model read token ids `1,2,3`, in the place of -prompt")
	flags.BoolVar(&p.bos, "bos", true, "begin -prompt's tokens with the one that begins documents, as in training; -bos=false: don't")
}

// read returns the prompt's ids, at least as many as wanted.
func (p *prompt) read(s *subject, least int) ([]int32, error) {
	ids, err := p.tokens(s, least)
	if err == nil && !p.anyLength {
		err = s.checkLength(p.name(), len(ids))
	}
	return ids, err
}

// name is that of the flag that counts.
func (p *prompt) name() string {
	if p.ids.given {
		return "-ids"
	}
	return "-prompt"
}

func (p *prompt) tokens(s *subject, least int) ([]int32, error) {
	switch {
	case p.text.given && p.ids.given:
		return nil, errors.New("want -prompt or -ids, got both")
	case p.ids.given:
		return s.readIDs("-ids", p.ids.value, least)
	case s.tokenizer == nil && p.text.given:
		return nil, errors.Errorf("-prompt: the model has no tokenizer: want its token ids, such as -ids 1,2,3, each below %d", s.Spec.Vocab)
	case s.tokenizer == nil:
		return nil, errors.Errorf("-ids: want token ids, such as 1,2,3, each below %d: the model has no tokenizer", s.Spec.Vocab)
	}
	ids, err := s.readText("-prompt", p.text.value, p.bos, least)
	if !p.text.given && s.Spec.Attention.Positions == models.PositionsLearned {
		ids = ids[:min(len(ids), s.Spec.Seq)] // what fits of the default prompt
	}
	return ids, err
}

// readText encodes a flag's text; at least so many tokens of it, BOS not counted.
func (s *subject) readText(name, text string, bos bool, least int) ([]int32, error) {
	ids := s.encode(text, bos)
	count := len(s.encode(text, false))
	if count < least {
		return nil, errors.Errorf("%s: want a text of at least %s, got %q of %d", name, tokenCount(least), text, count)
	}
	for i, id := range ids {
		if int(id) >= s.Spec.Vocab {
			return nil, errors.Errorf("%s: token %d: want an id below %d, the model's vocabulary, got %d", name, i, s.Spec.Vocab, id)
		}
	}
	return ids, nil
}

func (s *subject) encode(text string, bos bool) []int32 {
	var ids []int32
	if bos {
		ids = append(ids, s.tokenizer.BOS())
	}
	return s.tokenizer.Encode(ids, text)
}

// readIDs reads "1,2,3".
func (s *subject) readIDs(name, list string, least int) ([]int32, error) {
	ids, err := cli.ParseIDs(name, list, s.Spec.Vocab)
	if err != nil {
		return nil, err
	}
	if len(ids) < least {
		return nil, errors.Errorf("%s: want at least %s, got %d", name, tokenCount(least), len(ids))
	}
	return ids, nil
}

// checkLength refuses more tokens than a model has positions.
func (s *subject) checkLength(name string, n int) error {
	if s.Spec.Attention.Positions == models.PositionsLearned && n > s.Spec.Seq {
		return errors.Errorf("%s: want at most %s, the model's learned positions, got %d", name, tokenCount(s.Spec.Seq), n)
	}
	return nil
}

func tokenCount(n int) string {
	if n == 1 {
		return "1 token"
	}
	return strconv.Itoa(n) + " tokens"
}
