package generate

import (
	"context"
	"io"
	"os"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/regular"
)

// maxPrompt limits the bytes of a prompt read from a file or a stream: a model sees only its end,
// and a stream may be endless.
const maxPrompt = 4 << 20

// waiting is how long standard input may be silent before the user is told that the command waits
// for it.
const waiting = 2 * time.Second

// prompt holds the settings that say what to continue.
type prompt struct {
	stdin       io.Reader
	Text        *string `yaml:"prompt" help:"continue <TEXT>"`
	File        *string `yaml:"prompt_file" help:"continue the text of <FILE>, of at most 4 MiB; -: standard input"`
	List        *string `yaml:"prompts" help:"continue each line of <FILE>; of a .jsonl, each line's string, or its object's \"prompt\""`
	Interactive bool    `yaml:"interactive" help:"read prompts from the terminal, a line each, and continue one after the other"`
	Chat        bool    `yaml:"chat" help:"take the prompt for a user's message, put it into the model's chat template, and write the answer alone"`
	GivenIDs    *string `yaml:"ids" help:"continue the token ids <1,2,3> (no BOS is added), and write ids instead of text"`
}

// source is the prompt of one text: a text or token ids.
type source struct {
	text string
	ids  []int32
}

// check refuses more than one way of giving prompts.
func (p *prompt) check() error {
	var given []string
	for i, is := range []bool{p.Text != nil, p.File != nil, p.List != nil, p.GivenIDs != nil, p.Interactive} {
		if is {
			given = append(given, []string{"-prompt", "-prompt-file", "-prompts", "-ids", "-interactive"}[i])
		}
	}
	switch {
	case p.Chat && (p.GivenIDs != nil || p.Interactive):
		return commandline.Usagef("-chat: want a prompt as text, -prompt, -prompt-file or -prompts, got %s", given[0])
	case len(given) > 1:
		return commandline.Usagef("want one of -prompt, -prompt-file, -prompts, -ids and -interactive, got %s", strings.Join(given, " and "))
	case p.File != nil && *p.File == "":
		return commandline.Usagef("-prompt-file: want a file's name, or - for standard input, got nothing")
	case p.List != nil && *p.List == "":
		return commandline.Usagef("-prompts: want a file's name, got nothing")
	}
	return nil
}

// read returns the prompts, texts or ids below vocab. spells tells whether the model has a
// tokenizer.
func (p *prompt) read(ctx context.Context, out commandline.Output, spells bool, vocab int) ([]source, error) {
	if p.List != nil && spells {
		return p.readList(ctx)
	}
	text, ids, err := p.readOne(ctx, out, spells, vocab)
	return []source{{text, ids}}, err
}

func (p *prompt) readOne(ctx context.Context, out commandline.Output, spells bool, vocab int) (string, []int32, error) {
	switch {
	case p.GivenIDs != nil:
		ids, err := data.ParseIDs(*p.GivenIDs, vocab)
		if err == nil && len(ids) == 0 {
			err = errors.New("want at least one token id, got none")
		}
		return "", ids, commandline.Usage(errors.Wrap(err, "-ids"))
	case !spells:
		return "", nil, commandline.Usagef("-ids: want token ids, such as 1,2,3, each below %d: the model has no tokenizer", vocab)
	case p.Text != nil:
		return *p.Text, nil, nil
	case p.File != nil && *p.File != "-":
		file := *p.File
		text, err := readText(ctx, "-prompt-file: "+file, func() (io.ReadCloser, error) { return os.Open(file) }, nil)
		return text, nil, err
	case p.File == nil && commandline.IsTerminal(p.stdin):
		return "", nil, nil
	}
	ask := func() {
		out.Note("reading the prompt from standard input, up to its end (-prompt TEXT gives it in the call)")
	}
	stdin := p.stdin // the reader goes on after an interrupt, when p is no longer its command's
	text, err := readText(ctx, "standard input", func() (io.ReadCloser, error) { return io.NopCloser(stdin), nil }, ask)
	return text, nil, err
}

// readText reads a text to its end and removes a byte order mark and one final line break. The file
// may be a stream that blocks when it is opened or read; an interrupt ends the wait. silent, if not
// nil, is called after a short wait.
func readText(ctx context.Context, name string, open func() (io.ReadCloser, error), silent func()) (string, error) {
	type content struct {
		text string
		err  error
	}
	done := make(chan content, 1)
	go func() {
		text, err := readAll(open)
		done <- content{text, err}
	}()
	moment := time.NewTimer(waiting)
	defer moment.Stop()
	for {
		select {
		case c := <-done:
			return c.text, commandline.Usage(errors.WithMessage(c.err, name))
		case <-ctx.Done():
			return "", ctx.Err()
		case <-moment.C:
			if silent != nil {
				silent()
			}
		}
	}
}

func readAll(open func() (io.ReadCloser, error)) (string, error) {
	r, err := open()
	if err != nil {
		return "", withoutPath(err)
	}
	defer func() { _ = r.Close() }()
	text, err := io.ReadAll(io.LimitReader(r, maxPrompt+1))
	switch {
	case err != nil:
		return "", withoutPath(err)
	case len(text) > maxPrompt:
		return "", errors.Errorf("want at most %d MiB of text, got more: give its end alone, such as that of tail -c 100000", maxPrompt>>20)
	}
	if what := regular.Kind(text); what != "" {
		return "", errors.New("want text, but " + what)
	}
	prompt := strings.TrimPrefix(string(text), regular.ByteOrderMark)
	if line, cut := strings.CutSuffix(prompt, "\n"); cut {
		return strings.TrimSuffix(line, "\r"), nil
	}
	return prompt, nil
}

// withoutPath removes the path from a file's error, because the caller adds it.
func withoutPath(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return errors.WithMessage(path.Err, path.Op)
	}
	return err
}
