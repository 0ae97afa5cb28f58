package explore

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/jsonbody"
	"github.com/residua-go/residua/internal/settings"
)

// Handlers returns the API's handlers by patterns of http.ServeMux, for a server that adds them to
// its own.
func (e *Explorer) Handlers() map[string]http.Handler {
	all := map[string]http.Handler{
		"/explorer/model":     answering(http.MethodGet, func(w http.ResponseWriter, _ *http.Request) error { return write(w, e.about) }),
		"/explorer/analyses":  answering(http.MethodGet, func(w http.ResponseWriter, _ *http.Request) error { return write(w, e.listed) }),
		"/explorer/run":       answering(http.MethodPost, e.answerRun),
		"/explorer/token":     answering(http.MethodPost, e.answerToken),
		"/explorer/attention": answering(http.MethodPost, e.answerAttention),
	}
	for _, a := range e.analyses {
		all["/explorer/analyses/"+a.Name()] = e.analysis(a)
	}
	return all
}

// ServeHTTP answers a request.
func (e *Explorer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h, ok := e.Handlers()[r.URL.Path]
	if !ok {
		h = e.Page()
	}
	h.ServeHTTP(w, r)
}

// answering returns a handler that accepts one method and reports errors.
func answering(method string, answer func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if r.Method != method {
			w.Header().Set("Allow", method)
			fail(w, &statusError{http.StatusMethodNotAllowed, "want " + method + " " + r.URL.Path + ", got " + r.Method})
			return
		}
		if err := answer(w, r); err != nil && !errors.Is(err, context.Canceled) {
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

// bodyLimits bound a request's body.
var bodyLimits = jsonbody.Limits{Bytes: 1 << 20, Time: time.Minute, Stall: 10 * time.Second}

// read decodes a request's body, one JSON object. The content type must be JSON, which a page of
// another site cannot send without a preflight request.
func (e *Explorer) read(w http.ResponseWriter, r *http.Request, into any) error {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return &statusError{http.StatusUnsupportedMediaType, "want Content-Type: application/json"}
	}
	err := jsonbody.Read(w, r, bodyLimits, into)
	var setting *settings.Error
	switch {
	case errors.Is(err, jsonbody.ErrTooLarge):
		return &statusError{http.StatusRequestEntityTooLarge, fmt.Sprintf("want a body of at most %d bytes, got more", bodyLimits.Bytes)}
	case errors.Is(err, jsonbody.ErrBusy):
		return errBusy
	case errors.Is(err, jsonbody.ErrTimeout):
		return &statusError{http.StatusRequestTimeout, err.Error()}
	case errors.As(err, &setting):
		return &statusError{http.StatusBadRequest, setting.Error()}
	}
	return err
}
