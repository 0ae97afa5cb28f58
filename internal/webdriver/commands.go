package webdriver

import "net/http"

// Navigate opens an address and waits until the page is loaded.
func (b *Browser) Navigate(address string) error {
	return b.post("url", map[string]string{"url": address}, nil)
}

// Script runs the body of a function in the page, with arguments, and reads what it returns into
// into (nil: dropped).
func (b *Browser) Script(body string, into any, arguments ...any) error {
	return b.post("execute/sync", map[string]any{"script": body, "args": append([]any{}, arguments...)}, into)
}

// Move moves the mouse to a point of the window, in CSS pixels from its top left corner.
func (b *Browser) Move(x, y int) error { return b.mouse(move(x, y)) }

// Click moves the mouse to a point and presses and releases the first button there.
func (b *Browser) Click(x, y int) error {
	return b.mouse(move(x, y), map[string]any{"type": "pointerDown", "button": 0}, map[string]any{"type": "pointerUp", "button": 0})
}

// Drag presses the first button at a point and releases it at another.
func (b *Browser) Drag(fromX, fromY, toX, toY int) error {
	return b.mouse(move(fromX, fromY), map[string]any{"type": "pointerDown", "button": 0}, move(toX, toY), map[string]any{"type": "pointerUp", "button": 0})
}

func move(x, y int) map[string]any {
	return map[string]any{"type": "pointerMove", "duration": 0, "origin": "viewport", "x": x, "y": y}
}

func (b *Browser) mouse(actions ...map[string]any) error {
	return b.post("actions", map[string]any{"actions": []any{map[string]any{
		"type": "pointer", "id": "mouse", "parameters": map[string]string{"pointerType": "mouse"}, "actions": actions,
	}}}, nil)
}

// Message is a message of the console.
type Message struct {
	Level   string // SEVERE, WARNING, INFO, DEBUG
	Source  string
	Message string
}

// Console returns the messages since the last call.
func (b *Browser) Console() ([]Message, error) {
	var messages []Message
	err := b.post("se/log", map[string]string{"type": "browser"}, &messages)
	return messages, err
}

// Screenshot returns the window's content as PNG.
func (b *Browser) Screenshot() ([]byte, error) {
	var picture []byte // base64 in JSON
	err := b.do(http.MethodGet, b.session+"/screenshot", nil, &picture)
	return picture, err
}

// Prefer makes the page see a colour scheme, "light" or "dark", as the reader's choice
// (prefers-color-scheme).
func (b *Browser) Prefer(scheme string) error {
	return b.post("goog/cdp/execute", map[string]any{"cmd": "Emulation.setEmulatedMedia", "params": map[string]any{
		"features": []any{map[string]string{"name": "prefers-color-scheme", "value": scheme}},
	}}, nil)
}
