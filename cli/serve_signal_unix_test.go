//go:build unix

package cli

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/commandline/clitest"
)

// TestServeSignals: a signal lets a stream that runs come to its end, and the process exits with 0.
func TestServeSignals(t *testing.T) {
	t.Parallel()
	run := clitest.Train(t)
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		c := clitest.Program(t, "serve", "-checkpoint", run.Dir, "-listen", "127.0.0.1:0", "-slide")
		c.Stderr = os.Stderr
		out, err := c.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, c.Start())
		line, err := bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		_, url, _ := strings.Cut(strings.TrimSpace(line), " at ")
		const request = `{"prompt": "line", "max_tokens": 2000, "stream": true, "logit_bias": {"256": -100}}` // without the BOS that ends a text
		response, err := http.Post(url+"/v1/completions", "application/json", strings.NewReader(request))
		require.NoError(t, err)
		require.NoError(t, c.Process.Signal(signal))
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		response.Body.Close()
		assert.True(t, strings.HasSuffix(string(body), "data: [DONE]\n\n"))
		assert.Contains(t, string(body), `"finish_reason":"length"`)
		assert.NoError(t, c.Wait(), "exit code 0")
	}
}

// TestServeSignalEndsWhateverRuns: a signal and -stop-time end a process with a long stream, a
// client that reads nothing of its stream, a request that waits for the model, and a body that does
// not come.
func TestServeSignalEndsWhateverRuns(t *testing.T) {
	t.Parallel()
	run := clitest.Train(t)
	c := clitest.Program(t, "serve", "-checkpoint", run.Dir, "-listen", "127.0.0.1:0", "-slide", "-rows", "1", "-stop-time", "200ms")
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	_, url, _ := strings.Cut(strings.TrimSpace(line), " at ")
	const endless = `{"prompt": "line", "max_tokens": 20000000, "stream": true, "logit_bias": {"256": -100}}`
	reading, err := http.Post(url+"/v1/completions", "application/json", strings.NewReader(endless))
	require.NoError(t, err)
	defer reading.Body.Close()
	for _, request := range []string{ // neither is read
		fmt.Sprintf("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(endless), endless),
		fmt.Sprintf("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", len(endless)),
	} {
		silent, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		require.NoError(t, err)
		defer silent.Close()
		_, err = io.WriteString(silent, request)
		require.NoError(t, err)
	}
	time.Sleep(300 * time.Millisecond) // all have begun
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	text, _ := io.ReadAll(reading.Body)
	assert.Contains(t, string(text), "the server was stopped")
	select {
	case err := <-ended:
		assert.Error(t, err, "exit code 1: requests were unfinished")
	case <-time.After(20 * time.Second):
		c.Process.Kill()
		t.Fatal("the process goes on")
	}
}

// TestServeSignalEndsAnAnalysis: a signal and -stop-time end a process whose explorer has a million
// seeds to try.
func TestServeSignalEndsAnAnalysis(t *testing.T) {
	t.Parallel()
	run := clitest.Train(t)
	c := clitest.Program(t, "serve", "-checkpoint", run.Dir, "-listen", "127.0.0.1:0", "-stop-time", "100ms")
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	_, url, _ := strings.Cut(strings.TrimSpace(line), " at ")
	answered := make(chan int, 1)
	go func() {
		response, err := http.Post(url+"/explorer/analyses/basis", "application/json", strings.NewReader(`{"controls": 1000000}`))
		if assert.NoError(t, err) {
			response.Body.Close()
			answered <- response.StatusCode
		}
	}()
	time.Sleep(300 * time.Millisecond) // the analysis has begun
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	select {
	case <-ended:
		assert.Equal(t, http.StatusServiceUnavailable, <-answered)
	case <-time.After(20 * time.Second):
		c.Process.Kill()
		t.Fatal("the process goes on")
	}
}
