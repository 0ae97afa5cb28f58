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

// The errors of bodies that are not what a request may bring; what is wrong with the JSON is a *settings.Error.
var (
	ErrTooLarge = errors.New("the body has too many bytes")
	ErrTimeout  = errors.New("the body could not be read to its end")
)

// Read reads a body of at most so many bytes, one JSON object in UTF-8, into the struct that v points to. The client has a time
// to send it. length is how many bytes were read.
func Read(w http.ResponseWriter, r *http.Request, most int64, limit time.Duration, v any) (length int64, err error) {
	if r.ContentLength > most {
		w.Header().Set("Connection", "close")
		return 0, ErrTooLarge
	}
	control := http.NewResponseController(w)
	control.SetReadDeadline(time.Now().Add(limit)) // a writer that knows no deadlines has none
	body := &failing{reader: http.MaxBytesReader(w, r.Body, most)}
	err = settings.DecodeJSON(transform.NewReader(body, encoding.UTF8Validator), v)
	if err == nil {
		control.SetReadDeadline(time.Time{}) // with it, a long answer would end as if its client had gone
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(body.err, &large):
		return body.length, ErrTooLarge
	case body.err != nil:
		w.Header().Set("Connection", "close") // the rest is not waited for
		return body.length, ErrTimeout
	case errors.Is(err, encoding.ErrInvalidUTF8):
		return body.length, &settings.Error{Problem: "want a body in UTF-8, got bytes that are not"}
	}
	return body.length, err
}

// failing counts bytes, and keeps the error that ended the reading too soon.
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
