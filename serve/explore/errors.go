package explore

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
)

// statusError is an error with its HTTP status.
type statusError struct {
	status  int
	message string
}

func (e *statusError) Error() string { return e.message }

// errBusy reports that too many requests are waiting.
var errBusy = &statusError{http.StatusTooManyRequests, "too many requests wait for the model: try again later"}

// errClosed reports that the explorer was closed.
var errClosed = &statusError{http.StatusServiceUnavailable, "the explorer was closed before the model was done"}

// tooLong reports that a request took more than the time that it may use the model.
func tooLong(limit time.Duration) error {
	return &statusError{http.StatusServiceUnavailable, fmt.Sprintf("want what the model does within %v, got more: ask for less, or ask the analyze "+
		"command, which has no limit", limit)}
}

// ended returns the reason for a context's end: context.Canceled if the client has gone.
func ended(ctx context.Context) error {
	cause := context.Cause(ctx)
	var status *statusError
	if errors.Is(cause, context.Canceled) || errors.As(cause, &status) {
		return cause
	}
	return &statusError{http.StatusServiceUnavailable, cause.Error()}
}

// overflow returns the error of a run with changes whose logits are not finite. The run without
// changes came before it and had finite logits, so the changes are to blame and not the weights.
func overflow(err error) error {
	if !errors.Is(err, models.ErrDiverged) {
		return err
	}
	return &statusError{http.StatusUnprocessableEntity, "the changes drive the logits beyond what float32 can hold: take a smaller factor, or remove a change"}
}

// statusOf returns the HTTP status of an error: 400 if the client has to change the request.
func statusOf(err error) int {
	var status *statusError
	var outOfRange check.RangeError
	var value check.ValueError
	var unknown check.UnknownNameError
	var lacks check.UnsupportedError
	var notKept cache.NotKeptError
	var setting *layers.SettingError
	switch {
	case errors.As(err, &status):
		return status.status
	case errors.As(err, &outOfRange), errors.As(err, &value), errors.As(err, &unknown), errors.As(err, &lacks), errors.As(err, &notKept), errors.As(err, &setting):
		return http.StatusBadRequest
	case errors.Is(err, models.ErrDiverged):
		return http.StatusUnprocessableEntity
	}
	return http.StatusInternalServerError
}

// failureOf returns the JSON form of an error, with a message of one line.
func failureOf(err error) any {
	return map[string]map[string]string{"error": {"message": strings.Join(strings.Fields(err.Error()), " ")}}
}

// fail answers with an error.
func fail(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(statusOf(err))
	json.NewEncoder(w).Encode(failureOf(err))
}
