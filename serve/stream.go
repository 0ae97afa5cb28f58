package serve

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/pkg/errors"
)

// stream answers with server-sent events and sends each part of a text as soon as it exists. Parts
// that the client has not read yet are queued, so that the model never waits for a client. path is
// the request's, for the log.
func (s *Server) stream(ctx context.Context, cancel context.CancelFunc, w http.ResponseWriter, path string, c *completion) error {
	waiting := make(events, mostUnread)
	done := make(chan error, 1)
	go func() {
		done <- s.fill(ctx, c, waiting)
		close(waiting)
	}()
	sent, failed := false, error(nil)
	for event := range waiting {
		if failed != nil {
			continue // the client has gone; the generating goroutine will notice soon
		}
		if !sent {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Cache-Control", "no-cache")
			sent = true
		}
		if _, failed = w.Write(event); failed == nil {
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
			s.logFailure(w, path, err.Error())
		}
		w.Write(event(e.body()))
		return nil
	}
	return err
}

// fill generates a completion and puts its events into the queue.
func (s *Server) fill(ctx context.Context, c *completion, waiting events) error {
	used, err := s.generate(ctx, c, func(part choice) error { return waiting.add(c.object([]choice{part}, nil)) })
	if err != nil {
		return err
	}
	if c.request.Options.IncludeUsage {
		if err := waiting.add(c.object([]choice{}, &used)); err != nil {
			return err
		}
	}
	return waiting.put([]byte("[DONE]"))
}

func event(data []byte) []byte {
	return append(append([]byte("data: "), data...), "\n\n"...)
}

// mostUnread is how many events, of one or a few tokens each, are queued for a client that reads
// more slowly than the model writes.
const mostUnread = 4096

// events is the queue of events that a stream has not sent yet.
type events chan []byte

func (e events) add(r any) error {
	data, err := json.Marshal(r)
	if err != nil {
		return errors.Wrap(err, "serve: an event")
	}
	return e.put(data)
}

// put adds an event without waiting.
func (e events) put(data []byte) error {
	select {
	case e <- event(data):
		return nil
	default:
		return invalid("", "the events of this stream were not read: %d wait", len(e))
	}
}
