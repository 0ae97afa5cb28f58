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

// Serve answers what comes to a listener until ctx ends. Then it takes no more, gives what runs
// Options.StopTime to finish, and ends the rest. It returns nil if nothing had to be ended.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	requests, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: s.options.ReadTime,
		WriteTimeout:      s.options.ReadTime + s.options.RequestTime + s.options.WriteTime, // each write has WriteTime, in measured
		IdleTimeout:       s.options.IdleTime,
		MaxHeaderBytes:    64 << 10,
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
	server.Shutdown(said) // what was ended tells its client
	server.Close()
	return errors.Errorf("serve: stopped after %v with %d requests unfinished", s.options.StopTime, left)
}

// errStopped ends what runs for too long after a stop.
var errStopped = errors.New("the server was stopped")

// logWriter logs what net/http has to say.
type logWriter func(message string)

func (w logWriter) Write(line []byte) (int, error) {
	w(strings.TrimSpace(string(line)))
	return len(line), nil
}
