package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/pkg/errors"
)

// worker runs one model in a child process, a number of steps whenever it is asked to, and keeps
// what it has measured.
type worker struct {
	name    string
	facts   facts
	seconds []float64 // of all its steps
	turn    int       // number of steps in one of its turns
	// tokenSeconds holds the time of a decoded token for each step of generation.
	tokenSeconds []float64
	loss         float64
	peak         int
	failed       bool

	input   io.WriteCloser
	replies *json.Decoder
	wait    func() error // waits for its end, once input is closed
	stderr  *tail
}

// ok tells whether a worker was started and has not failed.
func (w *worker) ok() bool { return w != nil && !w.failed }

// startChild starts a job's process: this program again, or a script. It does not wait for the
// facts.
func startChild(ctx context.Context, j job) (*worker, error) {
	j, err := j.encoded()
	if err != nil {
		return nil, err
	}
	if j.peer != nil {
		return startProcess(j.title(), j.peer.command(ctx, j))
	}
	self, err := os.Executable()
	if err != nil {
		return nil, errors.Wrap(err, "want the path of this program to start it again")
	}
	text, err := json.Marshal(j)
	if err != nil {
		return nil, errors.WithStack(err)
	}
	command := exec.CommandContext(ctx, self)
	command.Env = append(os.Environ(), childVariable+"="+string(text))
	return startProcess(j.title(), command)
}

// startProcess starts a child; the caller must open it.
func startProcess(name string, command *exec.Cmd) (*worker, error) {
	w := &worker{name: name, wait: command.Wait, stderr: &tail{}}
	command.Stderr, command.WaitDelay = w.stderr, waitDelay
	input, err := command.StdinPipe()
	if err != nil {
		return nil, errors.WithStack(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, errors.WithStack(err)
	}
	w.input, w.replies = input, json.NewDecoder(output)
	return w, errors.Wrapf(command.Start(), "%s", name)
}

// waitDelay is how long a child's own children may keep its output open.
const waitDelay = 5 * time.Second

// open waits for the facts; it closes a worker that fails to open.
func (w *worker) open() error {
	r, err := w.read()
	if err == nil && r.Facts == nil {
		err = errors.Errorf("%s: want its facts first, got %+v", w.name, r)
	}
	if err != nil {
		_ = w.close()
		return err
	}
	w.facts = *r.Facts
	return nil
}

// read reads the next line.
func (w *worker) read() (reply, error) {
	var r reply
	if err := w.replies.Decode(&r); err != nil {
		return r, w.ended(err)
	}
	if r.Error != "" {
		return r, errors.Errorf("%s: %s", w.name, r.Error)
	}
	return r, nil
}

// ended says why a child has ended: its exit status and the last lines of its standard error.
func (w *worker) ended(err error) error {
	if status := w.close(); status != nil {
		err = status
	}
	if lines := w.stderr.String(); lines != "" {
		return errors.Errorf("%s ended (%v): %s", w.name, err, lines)
	}
	return errors.Errorf("%s ended (%v)", w.name, err)
}

// run runs n steps and keeps their times.
func (w *worker) run(n int) error {
	r, err := w.ask(fmt.Sprint(n))
	if err != nil {
		return err
	}
	if len(r.Seconds) != n {
		return errors.Errorf("%s: want the times of %d steps, got %d", w.name, n, len(r.Seconds))
	}
	w.seconds, w.tokenSeconds = append(w.seconds, r.Seconds...), append(w.tokenSeconds, r.Tokens...)
	w.loss, w.peak, w.turn = r.Loss, r.Peak, n
	return nil
}

// ask sends a line and returns the answer.
func (w *worker) ask(line string) (reply, error) {
	if _, err := fmt.Fprintln(w.input, line); err != nil {
		return reply{}, w.ended(err)
	}
	return w.read()
}

// close ends the child and returns how it ended. Closing twice is allowed.
func (w *worker) close() error {
	_ = w.input.Close()
	return w.wait()
}

// tail keeps the end of the text that is written to it.
type tail struct{ text []byte }

// How much of a child's standard error an error message may show.
const (
	tailBytes = 2000
	tailLines = 8
)

// Write never fails.
func (t *tail) Write(b []byte) (int, error) {
	t.text = append(t.text, b...)
	if extra := len(t.text) - tailBytes; extra > 0 {
		t.text = t.text[extra:]
	}
	return len(b), nil
}

// String returns the last lines.
func (t *tail) String() string {
	lines := strings.Split(strings.TrimSpace(string(t.text)), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}
