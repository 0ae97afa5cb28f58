package generate

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/internal/commandline"
)

// sampling generates a call's texts, several at a time, and writes them in order.
type sampling struct {
	*call
	generator *generate.Generator
	tokenizer data.Tokenizer // nil: the model has none
	out       commandline.Output
	prompts   []source
	tokens    int           // tokens of all samples
	time      time.Duration // sum of the samples' times
}

// sample is one text to generate.
type sample struct {
	request generate.Request
	name    string // prompt and sample in words; "" if there is only one
	index   int    // index among the samples of its prompt
	text    *ahead // set when generation starts
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
	return commandline.ByFlag(s.writeAll(ctx, all))
}

// writeAll writes samples in order. While it writes one, the generator works on later ones, as many
// at a time as it has rows.
func (s *sampling) writeAll(ctx context.Context, all []sample) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // after an error, stop the others
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

// sample returns sample i of prompt p.
func (s *sampling) sample(p, i int) sample {
	r := s.Request
	r.Prompt, r.IDs = s.prompts[p].text, s.prompts[p].ids
	r.Seed = generate.SampleSeed(s.Request.Seed, i)
	r.Echo = !s.JSON && s.GivenIDs == nil && !s.Chat
	var name []string
	if len(s.prompts) > 1 {
		name = append(name, fmt.Sprintf("prompt %d of %d", p+1, len(s.prompts)))
	}
	if s.Samples > 1 {
		name = append(name, fmt.Sprintf("sample %d of %d", i+1, s.Samples))
	}
	return sample{request: r, name: strings.Join(name, ", "), index: i}
}

// write generates a sample and writes it, in the form that the flags ask for.
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
		return commandline.Usage(err)
	}
	return err
}

// text writes a sample's text as it is generated, or when it is complete, and then the table of its
// log probabilities.
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

// printed writes a text to standard output.
type printed struct {
	out    commandline.Output
	stream bool // write the text as it is generated
	held   strings.Builder
	ended  bool // the text is empty so far, or ends in a line break
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

// end writes what has been held back, even if the text was interrupted, and ends its line.
func (t *printed) end() error {
	if !t.ended {
		t.held.WriteString("\n")
	}
	if t.held.Len() == 0 {
		return nil
	}
	return t.out.PrintText(t.held.String())
}

// ids writes a sample's token ids, the prompt's first, as far as they go if it is interrupted. The
// table of their log probabilities follows.
func (s *sampling) ids(a sample) (generate.Result, error) {
	tokens, result, err := a.text.follow(func(string) error { return nil })
	if result.PromptTokens == 0 {
		return result, err // the request was refused
	}
	if failed := s.out.Print(data.FormatIDs(append(result.PromptIDs, result.IDs...)) + "\n"); err == nil {
		err = failed
	}
	if err == nil && a.request.LogProbs > 0 {
		err = s.table(tokens)
	}
	return result, err
}

// notes reports what a sample left out.
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

// speed reports the speed to a person: of a single text since its prompt was read, of several since
// start.
func (s *sampling) speed(start time.Time) {
	if len(s.prompts)*s.Samples > 1 {
		s.time = time.Since(start)
	}
	if s.tokens == 0 || s.time <= 0 || !commandline.IsTerminal(s.out.Stderr) {
		return
	}
	s.out.Note(fmt.Sprintf("%d tokens in %.1f s: %.1f tokens/s", s.tokens, s.time.Seconds(), float64(s.tokens)/s.time.Seconds()))
}
