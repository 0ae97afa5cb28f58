// Package browsertest drives a headless Chromium for tests of pages. Only tests import it.
package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/pkg/errors"
	"github.com/stretchr/testify/require"
)

// Browser is a running browser with one window.
type Browser struct {
	context  context.Context
	mutex    sync.Mutex // guards the messages: the browser sends them at any time
	messages []string
}

// longest is how long the browser may take for a single action.
const longest = 30 * time.Second

// program is the browser's command, looked up in PATH.
const program = "chromium"

// Open starts a browser with a window of the given size in CSS pixels; it ends with the test. It
// returns nil in short tests, or if PATH has no Chromium.
func Open(t testing.TB, width, height int) *Browser {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil || testing.Short() {
		return nil
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.WindowSize(width, height), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	b := &Browser{}
	b.context, stop = chromedp.NewContext(allocator)
	t.Cleanup(func() {
		_ = chromedp.Cancel(b.context) // it returns an error if the browser never started, which the test reports itself
		stop()
	})
	require.NoError(t, chromedp.Listen(b.context, b.listen), "chromium does not start")
	return b
}

// listen keeps the console's messages, and whatever else the browser reports about the page.
func (b *Browser) listen(event any) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		var text strings.Builder
		for _, argument := range e.Args {
			fmt.Fprintf(&text, " %s", argument.Value)
		}
		b.messages = append(b.messages, string(e.Type)+":"+text.String())
	case *runtime.EventExceptionThrown:
		b.messages = append(b.messages, (&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error())
	case *log.EventEntryAdded:
		b.messages = append(b.messages, fmt.Sprintf("%s: %s: %s", e.Entry.Source, e.Entry.Level, e.Entry.Text))
	}
}

// Console returns the messages since the last call.
func (b *Browser) Console() []string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	messages := b.messages
	b.messages = nil
	return messages
}

// run runs one action within its time limit.
func run[T any](b *Browser, action chromedp.Action[T]) (T, error) {
	c, cancel := context.WithTimeout(b.context, longest)
	defer cancel()
	v, err := chromedp.Run(c, action)
	return v, errors.Wrap(err, "browser")
}

func (b *Browser) do(actions ...chromedp.Action[chromedp.Void]) error {
	_, err := run(b, chromedp.Steps(actions...))
	return err
}

// Navigate opens an address and waits until the page is loaded.
func (b *Browser) Navigate(address string) error { return b.do(chromedp.Navigate(address)) }

// Script runs the body of a function in the page, with arguments, and stores the result in into
// (nil: the result is dropped).
func (b *Browser) Script(body string, into any, arguments ...any) error {
	list, err := json.Marshal(append([]any{}, arguments...))
	if err != nil {
		return errors.Wrap(err, "browser: the script's arguments")
	}
	result, err := run(b, chromedp.Evaluate[[]byte](fmt.Sprintf("(function() {%s\n}).apply(null, %s)", body, list)))
	if err != nil || into == nil {
		return err
	}
	return errors.Wrap(json.Unmarshal(result, into), "browser: the script's result")
}

// Move moves the mouse to a point of the window, in CSS pixels from its top left corner.
func (b *Browser) Move(x, y int) error { return b.do(mouse(chromedp.MouseMoved, x, y, false)) }

// Click moves the mouse to a point and presses and releases the left button there.
func (b *Browser) Click(x, y int) error { return b.Drag(x, y, x, y) }

// Drag presses the left button at a point and releases it at another.
func (b *Browser) Drag(fromX, fromY, toX, toY int) error {
	return b.do(mouse(chromedp.MouseMoved, fromX, fromY, false), mouse(chromedp.MousePressed, fromX, fromY, true),
		mouse(chromedp.MouseMoved, toX, toY, true), mouse(chromedp.MouseReleased, toX, toY, true))
}

// mouse makes a mouse event, with the left button or with none.
func mouse(event input.DispatchMouseEventType, x, y int, left bool) chromedp.Action[chromedp.Void] {
	var options []chromedp.MouseOption
	if left {
		options = append(options, chromedp.ButtonLeft, chromedp.ClickCount(1))
	}
	return chromedp.MouseEvent(event, float64(x), float64(y), options...)
}

// Screenshot returns the window's content as PNG.
func (b *Browser) Screenshot() ([]byte, error) { return run(b, chromedp.CaptureScreenshot()) }

// Resize sets the window's size in CSS pixels.
func (b *Browser) Resize(width, height int) error {
	wanted := emulation.SetDeviceMetricsOverrideParams{Width: int64(width), Height: int64(height), DeviceScaleFactor: 1}
	return b.do(chromedp.Func(func(c context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(c, t, emulation.SetDeviceMetricsOverride, wanted)
		return err
	}))
}

// Prefer sets the colour scheme that the page sees as the reader's preference
// (prefers-color-scheme), "light" or "dark".
func (b *Browser) Prefer(scheme string) error {
	wanted := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
	return b.do(chromedp.Func(func(c context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(c, t, emulation.SetEmulatedMedia, wanted)
		return err
	}))
}
