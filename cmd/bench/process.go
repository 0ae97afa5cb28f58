package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/pkg/errors"
)

// process is a child that makes steps when it is asked to, and what it has measured.
type process struct {
	name    string
	facts   facts
	seconds []float64 // of all its steps
	loss    float64
	peak    int

	command *exec.Cmd
	input   io.WriteCloser
	replies *json.Decoder
	stderr  *tail
}

// startOwn starts this program as a child.
func startOwn(ctx context.Context, o order) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, errors.Wrap(err, "want the path of this program to start it again")
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, errors.WithStack(err)
	}
	command := exec.CommandContext(ctx, self)
	command.Env = append(os.Environ(), childVariable+"="+string(text))
	return start(o.Implementation+" "+o.Name, command)
}

// start runs a child and waits for its facts.
func start(name string, command *exec.Cmd) (*process, error) {
	p := &process{name: name, command: command, stderr: &tail{}}
	command.Stderr = p.stderr
	input, err := command.StdinPipe()
	if err != nil {
		return nil, errors.WithStack(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, errors.WithStack(err)
	}
	p.input, p.replies = input, json.NewDecoder(output)
	if err := command.Start(); err != nil {
		return nil, errors.Wrapf(err, "%s", name)
	}
	r, err := p.read()
	if err == nil && r.Facts == nil {
		err = errors.Errorf("%s: want its facts first, got %+v", name, r)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	p.facts = *r.Facts
	return p, nil
}

// read takes the next line.
func (p *process) read() (reply, error) {
	var r reply
	if err := p.replies.Decode(&r); err != nil {
		p.close()
		return r, errors.Errorf("%s ended: %v: %s", p.name, err, p.stderr)
	}
	if r.Error != "" {
		return r, errors.Errorf("%s: %s", p.name, r.Error)
	}
	return r, nil
}

// run makes n steps and keeps their times.
func (p *process) run(n int) error {
	r, err := p.ask(fmt.Sprint(n))
	if err != nil {
		return err
	}
	if len(r.Seconds) != n {
		return errors.Errorf("%s: want the times of %d steps, got %d", p.name, n, len(r.Seconds))
	}
	p.seconds = append(p.seconds, r.Seconds...)
	p.loss, p.peak = r.Loss, r.Peak
	return nil
}

// ask sends a line and returns the answer.
func (p *process) ask(line string) (reply, error) {
	if _, err := fmt.Fprintln(p.input, line); err != nil {
		return reply{}, errors.Wrapf(err, "%s: %s", p.name, p.stderr)
	}
	return p.read()
}

// close ends the child. Closing twice is allowed.
func (p *process) close() {
	_ = p.input.Close()
	_ = p.command.Wait()
}

// tail keeps the end of what is written to it.
type tail struct{ text []byte }

// tailBytes is how much of a child's standard error an error message may show.
const tailBytes = 800

// Write never fails.
func (t *tail) Write(b []byte) (int, error) {
	t.text = append(t.text, b...)
	if extra := len(t.text) - tailBytes; extra > 0 {
		t.text = t.text[extra:]
	}
	return len(b), nil
}

// String is the last lines.
func (t *tail) String() string { return strings.TrimSpace(string(t.text)) }
