package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"

	"github.com/pkg/errors"
)

// stream answers with server-sent events, each part of a text as soon as it is there. What the
// client has not read yet waits in an outbox, so that the model never waits for a client.
func (s *Server) stream(ctx context.Context, cancel context.CancelFunc, w http.ResponseWriter, c *completion) error {
	out := newOutbox()
	done := make(chan error, 1)
	go func() { done <- s.fill(ctx, c, out) }()
	sent, failed := false, error(nil)
	for events, more := out.take(); more; events, more = out.take() {
		if failed != nil {
			continue // the client is gone; what generates is about to notice
		}
		if !sent {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Cache-Control", "no-cache")
			sent = true
		}
		if _, failed = w.Write(events); failed == nil {
			failed = http.NewResponseController(w).Flush()
		}
		if failed != nil {
			cancel()
		}
	}
	err := <-done
	switch {
	case failed != nil, errors.Is(err, context.Canceled):
		return nil // the client has gone
	case err != nil && sent:
		e := asAPI(err)
		if e.status == http.StatusInternalServerError {
			s.options.Log("/v1/completions: " + err.Error())
		}
		w.Write(event(e.body()))
		return nil
	}
	return err
}

// fill generates a completion into an outbox.
func (s *Server) fill(ctx context.Context, c *completion, out *outbox) error {
	defer out.close()
	used, err := s.generate(ctx, c, func(part choice) error { return out.add(c.response(part)) })
	if err != nil {
		return err
	}
	if c.request.Options.IncludeUsage {
		last := c.response()
		last.Choices = []choice{}
		last.Usage = &used
		if err := out.add(last); err != nil {
			return err
		}
	}
	return out.put(event([]byte("[DONE]")))
}

func event(data []byte) []byte {
	return append(append([]byte("data: "), data...), "\n\n"...)
}

// maxUnread is how many bytes of events may wait for a client that reads more slowly than the
// model writes.
const maxUnread = 4 << 20

// outbox holds the events of a stream that are not sent yet.
type outbox struct {
	mutex   sync.Mutex
	changed sync.Cond
	events  []byte
	closed  bool
}

func newOutbox() *outbox {
	o := &outbox{}
	o.changed.L = &o.mutex
	return o
}

func (o *outbox) add(r completionResponse) error {
	data, err := json.Marshal(r)
	if err != nil {
		return errors.Wrap(err, "serve: an event")
	}
	return o.put(event(data))
}

// put never waits.
func (o *outbox) put(event []byte) error {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if len(o.events)+len(event) > maxUnread {
		return invalid("", "the events of this stream were not read: %d bytes wait", len(o.events))
	}
	o.events = append(o.events, event...)
	o.changed.Signal()
	return nil
}

// close ends the stream after what is in it.
func (o *outbox) close() {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.closed = true
	o.changed.Signal()
}

// take waits for events and returns all that are there; more is false at the end.
func (o *outbox) take() (events []byte, more bool) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	for len(o.events) == 0 && !o.closed {
		o.changed.Wait()
	}
	events, o.events = o.events, nil
	return events, len(events) > 0
}
