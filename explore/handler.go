package explore

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// Handlers are the API's handlers by the patterns of http.ServeMux, for a server that mounts them among its own.
func (e *Explorer) Handlers() map[string]http.Handler {
	return map[string]http.Handler{
		"/explorer/model":     answering(http.MethodGet, func(w http.ResponseWriter, _ *http.Request) error { return write(w, e.about) }),
		"/explorer/run":       answering(http.MethodPost, e.answerRun),
		"/explorer/token":     answering(http.MethodPost, e.answerToken),
		"/explorer/attention": answering(http.MethodPost, e.answerAttention),
	}
}

func (e *Explorer) routes() {
	e.mux = http.NewServeMux()
	for pattern, handler := range e.Handlers() {
		e.mux.Handle(pattern, handler)
	}
	e.mux.Handle("/", e.Page())
}

// answering is a handler of one method that tells errors.
func answering(method string, answer func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if r.Method != method {
			w.Header().Set("Allow", method)
			fail(w, &statusError{http.StatusMethodNotAllowed, "want " + method + " " + r.URL.Path + ", got " + r.Method})
			return
		}
		if err := answer(w, r); err != nil && r.Context().Err() == nil {
			fail(w, err)
		}
	})
}

// write answers with JSON.
func write(w http.ResponseWriter, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return errors.WithStack(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(append(text, '\n'))
	return nil
}

// readTime is how long a request's body may take to come.
const readTime = time.Minute

// read decodes a request's body, one JSON object. Its type must be JSON's, which a page of another
// site cannot send without being asked first.
func (e *Explorer) read(w http.ResponseWriter, r *http.Request, into any) error {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return &statusError{http.StatusUnsupportedMediaType, "want Content-Type: application/json"}
	}
	control := http.NewResponseController(w)
	control.SetReadDeadline(time.Now().Add(readTime)) // a writer that knows no deadlines has none
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, e.options.Body))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return &statusError{http.StatusRequestEntityTooLarge, errors.Errorf("want a body of at most %d bytes, got more", e.options.Body).Error()}
	}
	if err != nil {
		w.Header().Set("Connection", "close") // the rest is not waited for
		return &statusError{http.StatusRequestTimeout, "the body could not be read to its end"}
	}
	control.SetReadDeadline(time.Time{}) // with it, a long answer would end as if its client had gone
	if !utf8.Valid(body) {
		return invalid("want a body in UTF-8, got bytes that are not")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	var kind *json.UnmarshalTypeError
	switch err := d.Decode(into); {
	case errors.As(err, &kind) && kind.Field != "":
		return invalid("%s: want a value of type %s, got %s", kind.Field, kind.Type, kind.Value)
	case kind != nil:
		return invalid("want a JSON object with the request's fields, got %s", kind.Value)
	case err != nil:
		return invalid("want a JSON object with the request's fields: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); err != io.EOF {
		return invalid("want one JSON object, got more after it")
	}
	return nil
}
