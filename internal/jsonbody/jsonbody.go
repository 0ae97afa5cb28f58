// Package jsonbody reads the JSON body of an HTTP request into a struct of settings.
package jsonbody

import (
	"io"
	"net/http"
	"time"

	"github.com/pkg/errors"
	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"

	"github.com/residua-go/residua/settings"
)

// Errors for bodies that a request may not have. Errors in the JSON itself are *settings.Error.
var (
	ErrTooLarge = errors.New("the body has too many bytes")
	ErrTimeout  = errors.New("the body could not be read to its end")
)

// Read reads a body of at most most bytes, one JSON object in UTF-8, into the struct that v points
// to. The client must send it within limit. length is the number of bytes read.
func Read(w http.ResponseWriter, r *http.Request, most int64, limit time.Duration, v any) (length int64, err error) {
	if r.ContentLength > most {
		w.Header().Set("Connection", "close")
		return 0, ErrTooLarge
	}
	control := http.NewResponseController(w)
	control.SetReadDeadline(time.Now().Add(limit)) // fails without effect if the writer supports no deadlines
	body := &failing{reader: http.MaxBytesReader(w, r.Body, most)}
	err = settings.DecodeJSON(transform.NewReader(body, encoding.UTF8Validator), v)
	if err == nil {
		control.SetReadDeadline(time.Time{}) // otherwise a long answer would end as if its client had gone
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(body.err, &large):
		return body.length, ErrTooLarge
	case body.err != nil:
		w.Header().Set("Connection", "close") // do not wait for the rest of the body
		return body.length, ErrTimeout
	case errors.Is(err, encoding.ErrInvalidUTF8):
		return body.length, &settings.Error{Problem: "want a body in UTF-8, got bytes that are not"}
	}
	return body.length, err
}

// failing counts bytes and keeps the error that ended the reading early.
type failing struct {
	reader io.Reader
	length int64
	err    error
}

func (f *failing) Read(p []byte) (int, error) {
	n, err := f.reader.Read(p)
	f.length += int64(n)
	if err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}
