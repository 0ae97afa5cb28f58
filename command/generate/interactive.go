package generate

import (
	"bufio"
	"context"
	"fmt"
	"sync"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/internal/cli"
)

// marker is written to standard error where a prompt is waited for.
const marker = "> "

// interactive continues line after line of standard input. An interrupt stops the text that
// is being generated; the input's end (Ctrl-D) ends the command. Prompt i has the seed of
// sample i, so that a prompt asked for twice gets another text.
func (s *sampling) interactive(ctx context.Context) error {
	var text current
	defer cli.OnInterrupt(ctx, func() {
		if !text.stop() {
			s.mark("\n" + marker)
		}
	})()
	if cli.IsTerminal(s.stdin) {
		s.out.Note("type a prompt and Enter; Ctrl-C stops a text, Ctrl-D ends")
	}
	lines := s.lines()
	for turn := 0; ; turn++ {
		s.mark(marker)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case line, more := <-lines:
			if !more || line.err != nil {
				s.mark("\n")
				return cli.Usage(errors.Wrap(line.err, "standard input"))
			}
			if err := s.answer(ctx, &text, line.text, turn); err != nil {
				return err
			}
		}
	}
}

// mark writes to a person at the terminal.
func (s *sampling) mark(text string) {
	if cli.IsTerminal(s.stdin) {
		fmt.Fprint(s.out.Stderr, text)
	}
}

// answer generates the samples of a prompt. What is wrong with the prompt is a warning.
func (s *sampling) answer(ctx context.Context, text *current, prompt string, turn int) error {
	within, stop := context.WithCancel(ctx)
	defer stop()
	text.set(stop)
	defer text.set(nil)
	s.prompts = []source{{text: prompt}}
	var all []sample
	for i := range s.Samples {
		a := s.sample(0, i)
		a.request.Seed = generate.SampleSeed(s.Request.Seed, turn*s.Samples+i)
		all = append(all, a)
	}
	err := s.writeAll(within, all)
	var long *generate.WindowError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case within.Err() != nil:
		return nil // stopped
	case errors.As(err, &long):
		s.out.Warn(err.Error())
		return nil
	}
	return err
}

// current is the text that is being generated.
type current struct {
	mu     sync.Mutex
	cancel context.CancelFunc // nil: none is
}

func (c *current) set(cancel context.CancelFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancel = cancel
}

// stop ends the text and tells whether there is one.
func (c *current) stop() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel == nil {
		return false
	}
	c.cancel()
	return true
}

// line is one of standard input, or why there is none.
type line struct {
	text string
	err  error
}

// lines returns those of standard input, up to its end or an error.
func (s *sampling) lines() <-chan line {
	lines := make(chan line)
	go func() {
		defer close(lines)
		in := bufio.NewScanner(s.stdin)
		in.Buffer(nil, maxPrompt)
		for in.Scan() {
			lines <- line{text: in.Text()}
		}
		if err := in.Err(); err != nil {
			lines <- line{err: err}
		}
	}()
	return lines
}
