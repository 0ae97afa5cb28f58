package generate

import (
	"bufio"
	"context"
	"fmt"
	"sync"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/layers"
)

// marker is written to standard error when the command waits for a prompt.
const marker = "> "

// interactive continues one line of standard input after the other. An interrupt stops the current
// text; the end of the input (Ctrl-D) ends the command. Prompt i uses the seed of sample i, so that
// the same prompt gives another text when it is repeated.
func (s *sampling) interactive(ctx context.Context) error {
	var text current
	defer commandline.OnInterrupt(ctx, func() {
		if !text.stop() {
			s.mark("\n" + marker)
		}
	})()
	if commandline.IsTerminal(s.stdin) {
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
				return commandline.Usage(errors.Wrap(line.err, "standard input"))
			}
			if err := s.answer(ctx, &text, line.text, turn); err != nil {
				return err
			}
		}
	}
}

// mark writes text to standard error if standard input is a terminal.
func (s *sampling) mark(text string) {
	if commandline.IsTerminal(s.stdin) {
		fmt.Fprint(s.out.Stderr, text)
	}
}

// answer generates the samples of a prompt. An error in the prompt is reported as a warning.
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
	var empty *layers.SettingError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case within.Err() != nil:
		return nil // the user has stopped it
	case errors.As(err, &long), errors.As(err, &empty) && empty.Key == "bos": // without BOS, an empty line is no prompt
		s.out.Warn(commandline.ByFlag(err).Error())
		return nil
	}
	return commandline.ByFlag(err)
}

// current is the text that is being generated.
type current struct {
	mu     sync.Mutex
	cancel context.CancelFunc // nil: no text is being generated
}

func (c *current) set(cancel context.CancelFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancel = cancel
}

// stop stops the text and tells whether there was one.
func (c *current) stop() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel == nil {
		return false
	}
	c.cancel()
	return true
}

// line is a line of standard input, or the error that ended it.
type line struct {
	text string
	err  error
}

// lines returns the lines of standard input, up to its end or an error.
func (s *sampling) lines() <-chan line {
	lines, in := make(chan line), bufio.NewScanner(s.stdin)
	in.Buffer(nil, maxPrompt)
	go func() {
		defer close(lines)
		for in.Scan() {
			lines <- line{text: in.Text()}
		}
		if err := in.Err(); err != nil {
			lines <- line{err: err}
		}
	}()
	return lines
}
