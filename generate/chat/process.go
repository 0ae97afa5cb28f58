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
	texts, err := r.RenderAll(ctx, request)
	if err != nil {
		return "", err
	}
	return texts[0], nil
}

// RenderAll renders several conversations, one after the other, in one process. If one fails, it
// returns the texts of those before it, and the error.
func (r Renderer) RenderAll(ctx context.Context, requests ...Request) (texts []string, err error) {
	var input bytes.Buffer
	for _, request := range requests {
		if err := json.NewEncoder(&input).Encode(request); err != nil {
			return nil, errors.Wrap(err, "chat")
		}
	}
	limit := answerTime + time.Duration(len(requests)-1)*renderTime
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	command := exec.CommandContext(ctx, r.Command[0], r.Command[1:]...)
	command.Stdin = &input
	command.WaitDelay = renderTime // for its pipes, after it was killed
	output, err := command.Output()
	for answers := json.NewDecoder(bytes.NewReader(output)); answers.More(); {
		var a answer
		if wrong := answers.Decode(&a); wrong != nil {
			return texts, errors.Wrap(wrong, "chat template: the answer of its process")
		}
		if a.Error != "" {
			return texts, errors.New(a.Error)
		}
		texts = append(texts, a.Text)
	}
	switch {
	case ctx.Err() == context.DeadlineExceeded:
		return texts, errors.Errorf("chat template: want a text within %v, got none", limit)
	case ctx.Err() != nil:
		return texts, ctx.Err()
	case err != nil || len(texts) < len(requests):
		return texts, errors.Errorf("chat template: its process ended without an answer (%v): it may nest too deeply", err)
	}
	return texts, nil
}

// Serve reads Requests and writes the answers that a Renderer reads, up to the first error. It
// gives up when the template takes too much time or memory; the process must end then.
func Serve(in io.Reader, out io.Writer) error {
	debug.SetMaxStack(renderStack)
	debug.SetGCPercent(100) // whatever GOGC says, what is not in use counts little towards renderMemory
	requests, answers := json.NewDecoder(in), json.NewEncoder(out)
	for requests.More() {
		var request Request
		if err := requests.Decode(&request); err != nil {
			return errors.Wrap(err, "chat")
		}
		a := request.answer()
		if err := answers.Encode(a); err != nil || a.Error != "" {
			return errors.Wrap(err, "chat")
		}
	}
	return nil
}

// answer renders the request within the limits.
func (r Request) answer() answer {
	done := make(chan answer, 1)
	go func() {
		text, err := Render(r)
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
			return answer{Error: fmt.Sprintf("chat template: want a text within %v, got none", renderTime)}
		case a := <-done:
			return a
		case <-watch.C:
			if heap() > renderMemory {
				return answer{Error: "chat template: want at most 256 MiB of memory, got more"}
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
