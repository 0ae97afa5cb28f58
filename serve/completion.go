package serve

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"math"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/pkg/errors"
	"golang.org/x/sync/errgroup"

	"github.com/residua-go/residua/generate"
)

// completion is a request in progress.
type completion struct {
	id      string
	created int64
	model   *Model
	request completionRequest
	chat    bool               // of /v1/chat/completions
	texts   []generate.Request // one for each choice
}

// completionResponse is OpenAI's completion object, or a streamed part of one.
type completionResponse struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
}

type choice struct {
	Index        int       `json:"index"`
	Text         string    `json:"text"`
	LogProbs     *logProbs `json:"logprobs"`
	FinishReason *string   `json:"finish_reason"`

	first bool // the first part of its text
}

type usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
}

// completions answers POST /v1/completions.
func (s *Server) completions(w http.ResponseWriter, r *http.Request) error {
	return s.complete(w, r, s.newText)
}

// complete answers a request for text, which read reads and checks.
func (s *Server) complete(w http.ResponseWriter, r *http.Request, read func(http.ResponseWriter, *http.Request) (*completion, error)) error {
	if s.running.Load() >= int64(s.options.Requests) {
		w.Header().Set("Connection", "close") // the body will not be read
		return generate.ErrBusy
	}
	c, err := read(w, r)
	if err != nil {
		return err
	}
	defer s.running.Add(-1)
	if running := s.running.Add(1); running > int64(s.options.Requests) {
		return generate.ErrBusy
	}
	release, err := s.reserve(c.bytes())
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithTimeout(r.Context(), s.options.RequestTime)
	defer cancel()
	if c.request.Stream {
		return s.stream(ctx, cancel, w, r.URL.Path, c)
	}
	return s.whole(ctx, w, c)
}

// newCompletion returns a completion with a new id.
func newCompletion(prefix string) *completion {
	var id [16]byte
	rand.Read(id[:]) // never fails
	return &completion{id: prefix + hex.EncodeToString(id[:]), request: completionRequest{sampling: newSampling()}, created: time.Now().Unix()}
}

// newText reads and checks a request to continue texts.
func (s *Server) newText(w http.ResponseWriter, r *http.Request) (*completion, error) {
	c := newCompletion("cmpl-")
	c.request.Prompt.most = s.longestPrompt()
	if err := s.decode(w, r, &c.request); err != nil {
		return nil, err
	}
	return c, s.finish(c)
}

// finish checks a request that has been read, and makes the requests to its model.
func (s *Server) finish(c *completion) error {
	err := c.request.check()
	if err == nil {
		c.model, err = s.model(c.request.Model)
	}
	if err == nil {
		c.texts, err = c.request.texts(c.model)
	}
	return err
}

// longestPrompt returns the largest number of prompt ids that any of the models may read.
func (s *Server) longestPrompt() int {
	most := 0
	for _, m := range s.models {
		if m.Slide {
			return math.MaxInt
		}
		most = max(most, m.Window)
	}
	return most
}

// whole answers with all texts in one object.
func (s *Server) whole(ctx context.Context, w http.ResponseWriter, c *completion) error {
	choices := make([]choice, len(c.texts))
	texts := make([]strings.Builder, len(c.texts))
	used, err := s.generate(ctx, c, func(part choice) error {
		texts[part.Index].WriteString(part.Text)
		choices[part.Index].join(part)
		return nil
	})
	if err != nil {
		return err
	}
	for i := range choices {
		choices[i].Text = texts[i].String()
	}
	return writeJSON(w, c.object(choices, &used))
}

// join adds a later part of the same choice, but for its text.
func (c *choice) join(part choice) {
	c.Index, c.FinishReason = part.Index, part.FinishReason
	if c.LogProbs == nil {
		c.LogProbs = part.LogProbs
	} else if part.LogProbs != nil {
		c.LogProbs.join(part.LogProbs)
	}
}

// generate generates a completion's texts, Model.Parallel at a time, and emits their parts. The
// parts of one choice come in order, the last with the finish reason; different choices are emitted
// from different goroutines. generate returns when all texts have ended.
func (s *Server) generate(ctx context.Context, c *completion, emit func(choice) error) (usage, error) {
	start := time.Now()
	first := s.metrics.firstToken(start)
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(max(1, c.model.Parallel))
	results := make([]generate.Result, len(c.texts))
	for i := range c.texts {
		group.Go(func() (err error) {
			defer func() {
				if r := recover(); r != nil {
					err = errors.Errorf("serve: internal error: %v\n%s", r, debug.Stack())
				}
			}()
			if err := running.Err(); err != nil {
				return err // the request ended before it was this text's turn
			}
			text := newParts(c, i, emit)
			results[i], err = c.model.Generator.Generate(running, c.texts[i], func(p generate.Piece) error {
				first()
				return text.add(p)
			})
			if err != nil {
				return err
			}
			return text.finish(results[i])
		})
	}
	err := group.Wait()
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx) // the reason for its end, whatever error the Generator returned
	}
	used := c.usage(results)
	s.metrics.generated(used, time.Since(start))
	return used, err
}

// usage counts the tokens; it counts a prompt once, even if several texts continue it.
func (c *completion) usage(results []generate.Result) usage {
	var u usage
	for i, r := range results {
		if i%c.request.N == 0 {
			u.PromptTokens += len(c.texts[i].IDs)
		}
		u.CompletionTokens += r.Tokens
	}
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	return u
}
