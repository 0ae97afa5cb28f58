// Package webdriver drives a headless Chromium by ChromeDriver over the WebDriver protocol (W3C,
// WebDriver, 2018), for tests of pages.
package webdriver

import (
	"bufio"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"time"

	"github.com/pkg/errors"
)

// Browser is a running browser with one window.
type Browser struct {
	driver  *exec.Cmd
	address string // of ChromeDriver
	session string // address of the session
	client  http.Client
}

// startMost is how long ChromeDriver may take to start, answerMost to answer.
const (
	startMost  = 20 * time.Second
	answerMost = 30 * time.Second
)

// Installed says whether chromium and chromedriver are in PATH.
func Installed() bool {
	for _, name := range []string{"chromium", "chromedriver"} {
		if _, err := exec.LookPath(name); err != nil {
			return false
		}
	}
	return true
}

// Open starts a browser whose window is so many CSS pixels wide and high and whose profile is in
// folder, an empty folder. Close ends it.
func Open(folder string, width, height int) (*Browser, error) {
	if !Installed() {
		return nil, errors.New("webdriver: want chromium and chromedriver in PATH, got at most one of them (Debian: apt-get install chromium chromium-driver)")
	}
	b := &Browser{driver: exec.Command("chromedriver", "--port=0"), client: http.Client{Timeout: answerMost}}
	b.driver.WaitDelay = time.Second
	output, err := b.driver.StdoutPipe()
	if err != nil {
		return nil, errors.Wrap(err, "webdriver")
	}
	if err := b.driver.Start(); err != nil {
		return nil, errors.Wrap(err, "webdriver")
	}
	port, err := portOf(output)
	if err == nil {
		b.address = "http://127.0.0.1:" + port
		err = b.open(folder, width, height)
	}
	if err != nil {
		b.stop()
		return nil, err
	}
	return b, nil
}

// Close ends the browser.
func (b *Browser) Close() error {
	err := b.do(http.MethodDelete, b.session, nil, nil)
	b.stop()
	return err
}

// stop ends ChromeDriver and, where its session still runs, the browser.
func (b *Browser) stop() {
	if b.address != "" {
		b.do(http.MethodGet, b.address+"/shutdown", nil, nil) // it may have ended already
	}
	b.driver.Process.Kill()
	b.driver.Wait()
}

// started is ChromeDriver's line with the port that it chose.
var started = regexp.MustCompile(`successfully on port (\d+)`)

// portOf waits for ChromeDriver's port; what else it writes is read and dropped.
func portOf(output io.Reader) (string, error) {
	found := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(output)
		for lines.Scan() {
			if m := started.FindStringSubmatch(lines.Text()); m != nil {
				select {
				case found <- m[1]:
				default: // already told
				}
			}
		}
		close(found)
	}()
	select {
	case port, ok := <-found:
		if ok {
			return port, nil
		}
		return "", errors.New("webdriver: chromedriver ended before it listened")
	case <-time.After(startMost):
		return "", errors.Errorf("webdriver: chromedriver has no port after %v", startMost)
	}
}
