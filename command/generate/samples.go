package generate

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/internal/cli"
)

// sampling generates a call's texts, several at a time, and writes them one after the other.
type sampling struct {
	*call
	generator *generate.Generator
	tokenizer data.Tokenizer // nil: the model has none
	out       cli.Output
	prompts   []source
	tokens    int           // of all samples
	time      time.Duration // that they took, one after the other
}

// sample is one text to generate.
type sample struct {
	request generate.Request
	name    string // which prompt and sample it is; "" where there is one
	index   int    // of the samples of its prompt
	text    *ahead // from when it is under way
}

func (s *sampling) run(ctx context.Context) error {
	if s.Samples > 1 && s.Request.Temperature == 0 {
		s.out.Note("at temperature 0 all samples are the same")
	}
	defer s.speed(time.Now())
	var all []sample
	for p := range s.prompts {
		for i := range s.Samples {
			all = append(all, s.sample(p, i))
		}
	}
	return s.writeAll(ctx, all)
}

// writeAll writes samples in order while those after them are generated, as many at a time as
// the generator continues together.
func (s *sampling) writeAll(ctx context.Context, all []sample) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // with an error, those under way end
	begun := 0
	for i := range all {
		for ; begun < min(len(all), i+s.generator.Rows()); begun++ {
			all[begun].text = begin(ctx, s.generator, all[begun].request)
		}
		if err := s.write(all[i]); err != nil {
			return err
		}
	}
	return nil
}

// sample is sample i of prompt p.
func (s *sampling) sample(p, i int) sample {
	r := s.Request
	r.Prompt, r.IDs = s.prompts[p].text, s.prompts[p].ids
	r.Seed = generate.SampleSeed(s.Request.Seed, i)
	r.Echo = !s.JSON && s.GivenIDs == nil
	var name []string
	if len(s.prompts) > 1 {
		name = append(name, fmt.Sprintf("prompt %d of %d", p+1, len(s.prompts)))
	}
	if s.Samples > 1 {
		name = append(name, fmt.Sprintf("sample %d of %d", i+1, s.Samples))
	}
	return sample{request: r, name: strings.Join(name, ", "), index: i}
}

// write writes a sample that is under way, to its end.
func (s *sampling) write(a sample) error {
	form := s.text
	switch {
	case s.JSON:
		form = s.object
	case s.GivenIDs != nil:
		form = s.ids
	}
	if a.name != "" && !s.JSON {
		if err := s.out.Print(fmt.Sprintf("--- %s, seed %d\n", a.name, a.request.Seed)); err != nil {
			return err
		}
	}
	result, err := form(a)
	s.tokens += result.Tokens
	s.time += result.Time
	if err == nil {
		s.notes(result, a)
	}
	var long *generate.WindowError
	if errors.As(err, &long) {
		return cli.Usage(err)
	}
	return cli.ByFlag(err)
}

// text writes a sample's text as it comes, or when it is complete, then the table of its log
// probabilities.
func (s *sampling) text(a sample) (generate.Result, error) {
	t := printed{out: s.out, stream: s.Stream, ended: true}
	tokens, result, err := a.text.follow(t.add)
	if failed := t.end(); err == nil {
		err = failed
	}
	if err == nil && a.request.LogProbs > 0 {
		err = s.table(tokens)
	}
	return result, err
}

// printed is a text on standard output.
type printed struct {
	out    cli.Output
	stream bool // as it comes
	held   strings.Builder
	ended  bool // nothing has been added yet, or a line break at last
}

func (t *printed) add(text string) error {
	if text != "" {
		t.ended = strings.HasSuffix(text, "\n")
	}
	if t.stream {
		return t.out.PrintText(text)
	}
	t.held.WriteString(text)
	return nil
}

// end writes what is held, also of a text that was interrupted, and ends its line.
func (t *printed) end() error {
	if !t.ended {
		t.held.WriteString("\n")
	}
	if t.held.Len() == 0 {
		return nil
	}
	return t.out.PrintText(t.held.String())
}

// ids writes a sample's token ids, the prompt's first; those that there are if it is
// interrupted. The table of their log probabilities follows.
func (s *sampling) ids(a sample) (generate.Result, error) {
	tokens, result, err := a.text.follow(func(string) error { return nil })
	if result.PromptTokens == 0 {
		return result, err // refused
	}
	if failed := s.out.Print(data.FormatIDs(append(result.PromptIDs, result.IDs...)) + "\n"); err == nil {
		err = failed
	}
	if err == nil && a.request.LogProbs > 0 {
		err = s.table(tokens)
	}
	return result, err
}

// notes says what a sample left out.
func (s *sampling) notes(result generate.Result, a sample) {
	which := ""
	if a.name != "" {
		which = a.name + ": "
	}
	if result.PromptTokens > s.generator.Window() && a.index == 0 {
		s.out.Note(fmt.Sprintf("%sthe prompt has %d tokens, the model saw the last %d (-slide)", which, result.PromptTokens, s.generator.Window()))
	}
	if result.Stop == generate.StopDocument && !s.JSON {
		s.out.Note(fmt.Sprintf("%sthe model ended the document after %d of %d tokens", which, result.Tokens, s.Request.Tokens))
	}
}

// speed tells a person how fast it went: one text after its prompt was read, several since
// start.
func (s *sampling) speed(start time.Time) {
	if len(s.prompts)*s.Samples > 1 {
		s.time = time.Since(start)
	}
	if s.tokens == 0 || s.time <= 0 || !cli.IsTerminal(s.out.Stderr) {
		return
	}
	s.out.Note(fmt.Sprintf("%d tokens in %.1f s: %.1f tokens/s", s.tokens, s.time.Seconds(), float64(s.tokens)/s.time.Seconds()))
}
