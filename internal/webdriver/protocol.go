package webdriver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/pkg/errors"
)

// open begins the session: a browser that asks nothing of the network by itself, and keeps the
// console's messages.
func (b *Browser) open(folder string, width, height int) error {
	args := []string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--user-data-dir=" + folder, fmt.Sprintf("--window-size=%d,%d", width, height),
	}
	wanted := map[string]any{"capabilities": map[string]any{"alwaysMatch": map[string]any{
		"browserName":        "chrome",
		"goog:chromeOptions": map[string]any{"args": args},
		"goog:loggingPrefs":  map[string]string{"browser": "ALL"},
	}}}
	var session struct {
		ID string `json:"sessionId"`
	}
	if err := b.do(http.MethodPost, b.address+"/session", wanted, &session); err != nil {
		return err
	}
	b.session = b.address + "/session/" + session.ID
	return nil
}

// post sends a command of the session.
func (b *Browser) post(command string, body, into any) error {
	return b.do(http.MethodPost, b.session+"/"+command, body, into)
}

// do sends a request and reads the answer's value; body and into may be nil.
func (b *Browser) do(method, address string, body, into any) error {
	var text bytes.Buffer // empty without a body
	if body != nil {
		if err := json.NewEncoder(&text).Encode(body); err != nil {
			return errors.Wrap(err, "webdriver")
		}
	}
	request, err := http.NewRequest(method, address, &text)
	if err != nil {
		return errors.Wrap(err, "webdriver")
	}
	response, err := b.client.Do(request)
	if err != nil {
		return errors.Wrap(err, "webdriver")
	}
	defer response.Body.Close()
	var answer struct{ Value json.RawMessage }
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return errors.Wrapf(err, "webdriver: answer of %s", address)
	}
	if response.StatusCode != http.StatusOK {
		return refusal(answer.Value)
	}
	if into == nil {
		return nil
	}
	return errors.Wrap(json.Unmarshal(answer.Value, into), "webdriver")
}

// refusal is an error answer.
func refusal(value []byte) error {
	var told struct{ Error, Message string }
	if err := json.Unmarshal(value, &told); err != nil {
		return errors.Wrap(err, "webdriver: error answer")
	}
	return errors.Errorf("webdriver: %s: %s", told.Error, told.Message)
}
