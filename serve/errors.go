package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/layers"
)

// apiError is an error in the form of OpenAI's API: {"error": {...}}.
type apiError struct {
	status     int
	retryAfter int // seconds; 0: no header

	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func (e *apiError) Error() string { return e.Message }

// Types of errors.
const (
	invalidRequest = "invalid_request_error"
	serverError    = "server_error"
)

// invalid returns the error of a request that the client has to change; param names the field, ""
// for none.
func invalid(param, format string, args ...any) *apiError {
	e := &apiError{status: http.StatusBadRequest, Message: fmt.Sprintf(format, args...), Type: invalidRequest}
	if param != "" {
		e.Message = param + ": " + e.Message
		e.Param = &param
	}
	return e
}

func (e *apiError) with(status int, code string) *apiError {
	e.status = status
	e.Code = &code
	return e
}

// asAPI converts any error to the API's form. For an error that is not the client's mistake it
// leaves out the details, which may name files.
func asAPI(err error) *apiError {
	var api *apiError
	var setting *layers.SettingError
	switch {
	case errors.As(err, &api):
		return api
	case errors.As(err, &setting):
		return invalid(paramOf(setting.Key), "%s", setting.Problem)
	case errors.Is(err, generate.ErrBusy):
		e := &apiError{retryAfter: 1, Message: "too many requests are waiting for the model: try again later", Type: "rate_limit_error"}
		return e.with(http.StatusTooManyRequests, "rate_limit_exceeded")
	case errors.Is(err, errStopped):
		e := &apiError{retryAfter: 1, Message: "the server was stopped before the texts were ready", Type: serverError}
		return e.with(http.StatusServiceUnavailable, "stopped")
	case errors.Is(err, context.DeadlineExceeded):
		e := &apiError{Message: "the texts were not ready within the time that this server gives a request: ask for fewer tokens", Type: serverError}
		return e.with(http.StatusServiceUnavailable, "timeout")
	}
	return &apiError{status: http.StatusInternalServerError, Message: "the model failed to generate: the server's log has the error", Type: serverError}
}

// paramOf returns the API's name for a setting of generate.Request.
func paramOf(key string) string {
	switch key {
	case "tokens":
		return "max_tokens"
	case "ids":
		return "prompt"
	}
	return strings.ReplaceAll(key, "-", "_")
}

// body returns the error as JSON.
func (e *apiError) body() []byte {
	text, _ := json.Marshal(map[string]*apiError{"error": e}) // it has only strings, so Marshal cannot fail
	return text
}

func writeError(w http.ResponseWriter, e *apiError) {
	if e.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(e.retryAfter))
	}
	if e.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.status)
	w.Write(append(e.body(), '\n'))
}

func writeJSON(w http.ResponseWriter, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return errors.Wrap(err, "serve: the answer")
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, err = w.Write(body)
	return err
}
