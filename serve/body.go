package serve

import (
	"net/http"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/internal/jsonbody"
	"github.com/residua-go/residua/internal/settings"
)

// decode reads a request's body, one JSON object, into v.
func (s *Server) decode(w http.ResponseWriter, r *http.Request, v any) error {
	err := jsonbody.Read(w, r, jsonbody.Limits{Bytes: s.options.Body, Time: s.options.ReadTime, Stall: s.options.StallTime}, v)
	var setting *settings.Error
	switch {
	case errors.Is(err, jsonbody.ErrTooLarge):
		return invalid("", "want a body of at most %d bytes, got more", s.options.Body).with(http.StatusRequestEntityTooLarge, "request_too_large")
	case errors.Is(err, jsonbody.ErrTimeout):
		return invalid("", "%v", err).with(http.StatusRequestTimeout, "timeout")
	case errors.Is(err, jsonbody.ErrBusy):
		return generate.ErrBusy
	case errors.As(err, &setting) && setting.Unknown:
		return invalid("", "Unrecognized request argument supplied: %s: %s", setting.Key, setting.Problem).with(http.StatusBadRequest, "unknown_parameter")
	case errors.As(err, &setting):
		return invalid(setting.Key, "%s", setting.Problem)
	}
	return err
}
