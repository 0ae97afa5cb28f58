// Package jsonbody reads the JSON body of an HTTP request into a struct of settings.
package jsonbody

import (
	"io"
	"net/http"
	"time"

	"github.com/pkg/errors"
	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"

	"github.com/residua-go/residua/internal/settings"
)

// Errors for bodies that a request may not have. Errors in the JSON itself are *settings.Error.
var (
	ErrTooLarge = errors.New("the body has too many bytes")
	ErrTimeout  = errors.New("the body could not be read to its end")
	// ErrBusy is the error with which the body itself fails, if the server limits the bytes of all
	// bodies together and that limit is reached. Read returns it unchanged.
	ErrBusy = errors.New("too many bytes of bodies are in use")
)

// Limits bound a body.
type Limits struct {
	Bytes int64
	Time  time.Duration // to read all of it
	Stall time.Duration // to read each further 64 KiB, or the rest
}

// progress is how many bytes a client has to send within Limits.Stall.
const progress = 64 << 10

// Read reads a body, one JSON object in UTF-8, into the struct that v points to.
func Read(w http.ResponseWriter, r *http.Request, limits Limits, v any) error {
	if r.ContentLength > limits.Bytes {
		w.Header().Set("Connection", "close")
		return ErrTooLarge
	}
	body := &timed{reader: http.MaxBytesReader(w, r.Body, limits.Bytes), control: http.NewResponseController(w), stall: limits.Stall,
		end: time.Now().Add(limits.Time)}
	err := settings.DecodeJSON(transform.NewReader(body, encoding.UTF8Validator), v)
	if err == nil {
		body.control.SetReadDeadline(time.Time{}) // otherwise a long answer would end as if its client had gone
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(body.err, &large):
		return ErrTooLarge
	case body.err != nil:
		w.Header().Set("Connection", "close") // do not wait for the rest of the body
		if errors.Is(body.err, ErrBusy) {
			return ErrBusy
		}
		return ErrTimeout
	case errors.Is(err, encoding.ErrInvalidUTF8):
		return &settings.Error{Problem: "want a body in UTF-8, got bytes that are not"}
	}
	return err
}

// timed demands progress of a body, and keeps the error that ended the reading early.
type timed struct {
	reader  io.Reader
	control *http.ResponseController
	stall   time.Duration
	end     time.Time // for the whole body
	left    int       // bytes to come before the next deadline is set
	err     error
}

func (t *timed) Read(p []byte) (int, error) {
	if t.left <= 0 {
		t.left = progress
		deadline := time.Now().Add(t.stall)
		if t.end.Before(deadline) {
			deadline = t.end
		}
		t.control.SetReadDeadline(deadline) // fails without effect if the writer supports no deadlines
	}
	n, err := t.reader.Read(p)
	t.left -= n
	if err != nil && err != io.EOF {
		t.err = err
	}
	return n, err
}
