package serve

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// decode reads a request's body, one JSON object, into v.
func (s *Server) decode(w http.ResponseWriter, r *http.Request, v any) error {
	if r.ContentLength > s.options.Body {
		w.Header().Set("Connection", "close")
		return s.tooLarge()
	}
	control := http.NewResponseController(w)
	control.SetReadDeadline(time.Now().Add(s.options.ReadTime))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.options.Body))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return s.tooLarge()
	case err != nil:
		w.Header().Set("Connection", "close") // the rest is not waited for
		return invalid("", "the body could not be read to its end").with(http.StatusRequestTimeout, "timeout")
	case !utf8.Valid(body):
		return invalid("", "want a body in UTF-8, got bytes that are not")
	}
	control.SetReadDeadline(time.Time{}) // with it, a long answer would end as if its client had gone
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return asInvalid(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return invalid("", "want one JSON object, got more after it")
	}
	return nil
}

func (s *Server) tooLarge() error {
	return invalid("", "want a body of at most %d bytes, got more", s.options.Body).with(http.StatusRequestEntityTooLarge, "request_too_large")
}

// asInvalid says what is wrong with a body's JSON.
func asInvalid(err error) error {
	var api *apiError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &api):
		return api
	case errors.As(err, &kind) && kind.Field == "":
		return invalid("", "want a JSON object, got %s", kind.Value)
	case errors.As(err, &kind):
		return invalid(kind.Field, "want a value of type %s, got %s", jsonType(kind.Type.String()), kind.Value)
	}
	if field, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
		return invalid("", "Unrecognized request argument supplied: %s", strings.Trim(field, `"`)).with(http.StatusBadRequest, "unknown_parameter")
	}
	return invalid("", "want a JSON object, got something else: %s", strings.TrimPrefix(err.Error(), "json: "))
}

// jsonType is what JSON calls a Go type.
func jsonType(name string) string {
	switch {
	case strings.HasPrefix(name, "int"):
		return "integer"
	case strings.HasPrefix(name, "float"):
		return "number"
	case name == "bool":
		return "boolean"
	case strings.HasPrefix(name, "[]"):
		return "array"
	case name != "string":
		return "object"
	}
	return name
}
