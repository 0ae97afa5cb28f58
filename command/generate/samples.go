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

// sampling generates a call's samples one after the other.
type sampling struct {
	*call
	generator *generate.Generator
	tokenizer data.Tokenizer // nil: the model has none
	out       cli.Output
	tokens    int           // of all samples
	time      time.Duration // that they took
}

func newSampling(c *call, g *generate.Generator, t data.Tokenizer, out cli.Output) *sampling {
	return &sampling{call: c, generator: g, tokenizer: t, out: out}
}

func (s *sampling) run(ctx context.Context) error {
	if s.samples > 1 && s.request.Temperature == 0 {
		s.out.Note("at temperature 0 all samples are the same")
	}
	for i := range s.samples {
		if err := s.sample(ctx, i); err != nil {
			s.speed()
			return err
		}
	}
	s.speed()
	return nil
}

// sample generates sample i and writes it.
func (s *sampling) sample(ctx context.Context, i int) error {
	r := s.request
	r.Seed = generate.SampleSeed(s.request.Seed, i)
	write := s.text
	switch {
	case s.json:
		write = s.object
	case s.given("ids"):
		write = s.ids
	}
	if s.samples > 1 && !s.json {
		if err := s.out.Print(fmt.Sprintf("--- sample %d of %d, seed %d\n", i+1, s.samples, r.Seed)); err != nil {
			return err
		}
	}
	result, err := write(ctx, r, i)
	s.tokens += result.Tokens
	s.time += result.Time
	if err == nil {
		s.notes(result, i)
	}
	var long *generate.WindowError
	if errors.As(err, &long) {
		return cli.Usage(err)
	}
	return cli.ByFlag(err)
}

func (s *sampling) given(flag string) bool { return s.prompt.given(flag) }

// text writes a sample's text as it comes.
func (s *sampling) text(ctx context.Context, r generate.Request, _ int) (generate.Result, error) {
	r.Echo = true
	ended := true // nothing, or a line break
	result, err := s.generator.Generate(ctx, r, func(piece generate.Piece) error {
		ended = strings.HasSuffix(piece.Text, "\n") || ended && piece.Text == ""
		return s.out.Print(piece.Text)
	})
	if ended {
		return result, err
	}
	if failed := s.out.Print("\n"); err == nil {
		err = failed
	}
	return result, err
}

// ids writes a sample's token ids, the prompt's first; those that there are if it is
// interrupted.
func (s *sampling) ids(ctx context.Context, r generate.Request, _ int) (generate.Result, error) {
	result, err := s.generator.Generate(ctx, r, nil)
	if result.PromptTokens == 0 {
		return result, err // refused
	}
	if failed := s.out.Print(cli.FormatIDs(append(result.PromptIDs, result.IDs...)) + "\n"); err == nil {
		err = failed
	}
	return result, err
}

// object is what -json says of a sample.
type object struct {
	Sample          int           `json:"sample"`
	Seed            uint64        `json:"seed"`
	Prompt          *string       `json:"prompt,omitempty"` // none: the model has no tokenizer
	PromptIDs       []int32       `json:"prompt_ids"`
	Text            *string       `json:"text,omitempty"`
	IDs             []int32       `json:"ids"`
	Tokens          int           `json:"tokens"`
	FinishReason    generate.Stop `json:"finish_reason"`
	TokensPerSecond float64       `json:"tokens_per_s"`
}

// object writes a sample as a JSON object, when it is complete.
func (s *sampling) object(ctx context.Context, r generate.Request, i int) (generate.Result, error) {
	var text strings.Builder
	result, err := s.generator.Generate(ctx, r, func(piece generate.Piece) error {
		text.WriteString(piece.Text)
		return nil
	})
	if err != nil {
		return result, err
	}
	o := object{Sample: i, Seed: r.Seed, PromptIDs: result.PromptIDs, IDs: append([]int32{}, result.IDs...), Tokens: result.Tokens,
		FinishReason: result.Stop, TokensPerSecond: result.TokensPerSecond()}
	if s.tokenizer != nil {
		prompt, continued := r.Prompt, text.String()
		if s.given("ids") {
			prompt = s.tokenizer.Decode(r.IDs)
		}
		o.Prompt, o.Text = &prompt, &continued
	}
	return result, s.out.PrintJSON(o)
}

// notes says what a sample left out.
func (s *sampling) notes(result generate.Result, i int) {
	if result.PromptTokens > s.generator.Window() && i == 0 {
		s.out.Note(fmt.Sprintf("the prompt has %d tokens, the model saw the last %d (-slide)", result.PromptTokens, s.generator.Window()))
	}
	if result.Stop != generate.StopDocument || s.json {
		return
	}
	which := ""
	if s.samples > 1 {
		which = fmt.Sprintf("sample %d: ", i+1)
	}
	s.out.Note(fmt.Sprintf("%sthe model ended the document after %d of %d tokens", which, result.Tokens, s.request.Tokens))
}

// speed tells a person how fast it went.
func (s *sampling) speed() {
	if s.tokens == 0 || s.time <= 0 || !terminal(s.out.Stderr) {
		return
	}
	s.out.Note(fmt.Sprintf("%d tokens in %.1f s: %.1f tokens/s", s.tokens, s.time.Seconds(), float64(s.tokens)/s.time.Seconds()))
}
