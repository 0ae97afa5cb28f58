package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/pkg/errors"
)

// Limits of a rendering process.
const (
	renderTime   = time.Second      // from the request on
	answerTime   = 10 * time.Second // with the start of the process, which a busy machine delays
	renderMemory = 256 << 20        // bytes of its heap
	renderStack  = 64 << 20
)

// Renderer renders conversations in processes of their own, each of which has a second and 256 MiB:
// a template is a program, and its author need not be a friend.
type Renderer struct {
	// Command starts a program that calls Serve on its standard input and output.
	Command []string
}

// Word is the argument by which a program of package cli is started to call Serve.
const Word = "render-chat"

// Self returns a Renderer that starts this program, one of package cli, with Word.
func Self() (Renderer, error) {
	program, err := os.Executable()
	return Renderer{[]string{program, Word}}, errors.Wrap(err, "chat")
}

// answer is what the process writes.
type answer struct {
	Text  string `json:"text"`
	Error string `json:"error,omitempty"`
}

// Render does what the function Render does, within the limits.
func (r Renderer) Render(ctx context.Context, request Request) (string, error) {
	input, err := json.Marshal(request)
	if err != nil {
		return "", errors.Wrap(err, "chat")
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	command := exec.CommandContext(ctx, r.Command[0], r.Command[1:]...)
	command.Stdin = bytes.NewReader(input)
	command.WaitDelay = renderTime // for its pipes, after it was killed
	output, err := command.Output()
	switch {
	case ctx.Err() == context.DeadlineExceeded:
		return "", errors.Errorf("chat template: want a text within %v, got none", answerTime)
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", errors.Errorf("chat template: its process ended without an answer (%v): it may nest too deeply", err)
	}
	var a answer
	if err := json.Unmarshal(output, &a); err != nil {
		return "", errors.Wrap(err, "chat template: the answer of its process")
	}
	if a.Error != "" {
		return "", errors.New(a.Error)
	}
	return a.Text, nil
}

// Serve reads a Request and writes the answer that a Renderer reads. It gives up when the template
// takes too much time or memory; the process must end then.
func Serve(in io.Reader, out io.Writer) error {
	debug.SetMaxStack(renderStack)
	var request Request
	if err := json.NewDecoder(in).Decode(&request); err != nil {
		return errors.Wrap(err, "chat")
	}
	done := make(chan answer, 1)
	go func() {
		text, err := Render(request)
		if err != nil {
			done <- answer{Error: err.Error()}
			return
		}
		done <- answer{Text: text}
	}()
	watch := time.NewTicker(5 * time.Millisecond)
	defer watch.Stop()
	late := time.After(renderTime)
	for {
		select {
		case <-late:
			return json.NewEncoder(out).Encode(answer{Error: fmt.Sprintf("chat template: want a text within %v, got none", renderTime)})
		case a := <-done:
			return json.NewEncoder(out).Encode(a)
		case <-watch.C:
			if heap() > renderMemory {
				return json.NewEncoder(out).Encode(answer{Error: "chat template: want at most 256 MiB of memory, got more"})
			}
		}
	}
}

// Run does Serve and returns the exit code of its process.
func Run(in io.Reader, out io.Writer) int {
	if Serve(in, out) != nil {
		return 1
	}
	return 0
}

// heap returns the bytes of the process's heap objects.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
