package serve

import (
	"context"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/pkg/errors"
)

const (
	idleTime   = 2 * time.Minute // how long a connection may wait for its next request
	mostHeader = 64 << 10        // bytes of a request's header
)

// Serve answers requests from a listener until ctx ends. It then accepts no more, gives the running
// requests Options.StopTime to finish, and ends the others. It returns nil if all of them finished
// in time.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	requests, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: s.options.StallTime,
		WriteTimeout:      s.options.ReadTime + s.options.RequestTime + s.options.WriteTime, // each single write has WriteTime, set in measured
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    mostHeader,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ErrorLog:          log.New(logWriter(s.options.Log), "", 0),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return errors.Wrap(err, "serve")
	case <-ctx.Done():
	}
	limit, done := context.WithTimeout(context.WithoutCancel(ctx), s.options.StopTime)
	defer done()
	err := server.Shutdown(limit)
	<-failed
	if err == nil {
		return nil
	}
	left := s.running.Load()
	end(errStopped)
	said, done := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer done()
	server.Shutdown(said) // requests that were ended tell their clients
	server.Close()
	return errors.Errorf("serve: stopped after %v with %d requests unfinished", s.options.StopTime, left)
}

// errStopped ends requests that run for too long after a stop.
var errStopped = errors.New("the server was stopped")

// logWriter passes on net/http's own messages to the log.
type logWriter func(message string)

func (w logWriter) Write(line []byte) (int, error) {
	w(strings.TrimSpace(string(line)))
	return len(line), nil
}
