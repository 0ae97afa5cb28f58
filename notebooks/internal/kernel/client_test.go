//go:build jupyter

package kernel_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/notebooks/internal/kernel"
)

// message is a message of Jupyter's protocol.
type message struct {
	Header, Parent struct {
		ID   string `json:"msg_id"`
		Type string `json:"msg_type"`
	}
	Content map[string]any
}

// text returns a string in the content.
func (m message) text(key string) string {
	text, _ := m.Content[key].(string)
	return text
}

// plain returns the text that a message displays.
func (m message) plain() string {
	data, _ := m.Content["data"].(map[string]any)
	text, _ := data["text/plain"].(string)
	return text
}

// client talks to a kernel in a process of its own, as Jupyter does.
type client struct {
	t                     *testing.T
	process               *os.Process
	key                   []byte
	shell, control        *peer
	replies, acknowledged <-chan message // on shell and control
	published             <-chan message
	requests              int
	number                int // of the newest cell
}

// hang is how long a test waits for a kernel that does not answer.
const hang = 5 * time.Minute

// program builds the kernel, once for all tests.
var program = sync.OnceValues(func() (string, error) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		return "", err
	}
	return kernel.Program(root), kernel.Build(context.Background(), "go", root, func(int, int) {})
})

// start starts a kernel in the folder of the notebooks.
func start(t *testing.T) *client {
	t.Helper()
	path, err := program()
	if err != nil && strings.Contains(err.Error(), "dial tcp") {
		t.Skipf("the kernel's source is neither in the module cache nor within reach: %v", err)
	}
	require.NoError(t, err)
	c := &client{t: t, key: []byte("a key")}
	ports := freePorts(t, 5)
	connection := fmt.Sprintf(`{"transport": "tcp", "ip": "127.0.0.1", "key": %q, "signature_scheme": "hmac-sha256",
		"shell_port": %d, "control_port": %d, "iopub_port": %d, "stdin_port": %d, "hb_port": %d}`,
		c.key, ports[0], ports[1], ports[2], ports[3], ports[4])
	file := filepath.Join(t.TempDir(), "connection.json")
	require.NoError(t, os.WriteFile(file, []byte(connection), 0o600))
	command := exec.Command(path, file)
	command.Dir = "../.."
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	require.NoError(t, command.Start())
	c.process = command.Process
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if t.Failed() {
			t.Logf("the kernel's own output: %s", output.String())
		}
	})
	c.shell, c.replies = c.connect(ports[0], "DEALER")
	c.control, c.acknowledged = c.connect(ports[1], "DEALER")
	_, c.published = c.connect(ports[2], "SUB")
	for heard := false; !heard; { // until the kernel has noticed that we listen
		id := c.request(c.shell, "kernel_info_request", nil)
		c.await(c.replies, id)
		select {
		case <-c.published:
			heard = true
		case <-time.After(10 * time.Millisecond):
		}
	}
	return c
}

func freePorts(t *testing.T, n int) []int {
	t.Helper()
	var ports []int
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer listener.Close()
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// connect waits for the kernel to listen, and returns the messages that come.
func (c *client) connect(port int, socketType string) (*peer, <-chan message) {
	c.t.Helper()
	var p *peer
	require.Eventually(c.t, func() bool {
		var err error
		p, err = dial(fmt.Sprintf("127.0.0.1:%d", port), socketType)
		return err == nil
	}, hang, 20*time.Millisecond)
	c.t.Cleanup(func() { _ = p.conn.Close() })
	messages := make(chan message, 10000)
	go func() {
		defer close(messages)
		for {
			frames, err := p.receive()
			if err != nil {
				return
			}
			for len(frames) > 0 && string(frames[0]) != "<IDS|MSG>" {
				frames = frames[1:]
			}
			var m message
			for i, part := range []any{&m.Header, &m.Parent, nil, &m.Content} {
				if part != nil && json.Unmarshal(frames[2+i], part) != nil {
					return
				}
			}
			messages <- m
		}
	}()
	return p, messages
}

// request sends a request and returns its id.
func (c *client) request(to *peer, kind string, content map[string]any) string {
	c.t.Helper()
	c.requests++
	id := fmt.Sprintf("request-%d", c.requests)
	if content == nil {
		content = map[string]any{}
	}
	mac := hmac.New(sha256.New, c.key)
	var parts [][]byte
	for _, part := range []any{map[string]any{"msg_id": id, "msg_type": kind, "session": "s", "username": "", "version": "5.3"}, map[string]any{}, map[string]any{}, content} {
		text, err := json.Marshal(part)
		require.NoError(c.t, err)
		mac.Write(text)
		parts = append(parts, text)
	}
	signature := []byte(hex.EncodeToString(mac.Sum(nil)))
	require.NoError(c.t, to.send(append([][]byte{[]byte("<IDS|MSG>"), signature}, parts...)))
	return id
}

// await returns the reply to a request.
func (c *client) await(from <-chan message, id string) message {
	c.t.Helper()
	for {
		if m := c.next(from); m.Parent.ID == id {
			return m
		}
	}
}

func (c *client) next(from <-chan message) message {
	c.t.Helper()
	select {
	case m, open := <-from:
		require.True(c.t, open, "the kernel has ended")
		return m
	case <-time.After(hang):
		require.FailNow(c.t, "the kernel hangs")
	}
	return message{}
}

// send asks the kernel to run a cell.
func (c *client) send(cell string) (id string) {
	c.t.Helper()
	return c.request(c.shell, "execute_request", map[string]any{"code": cell, "silent": false})
}

// finish waits for the end of a cell and returns what it has published since.
func (c *client) finish(id string) (reply message, published []message) {
	c.t.Helper()
	reply = c.await(c.replies, id)
	if number, ok := reply.Content["execution_count"].(float64); ok {
		c.number = int(number)
	}
	for {
		m := c.next(c.published)
		if m.Parent.ID != id {
			continue
		}
		if m.Header.Type == "status" && m.text("execution_state") == "idle" {
			return reply, published
		}
		published = append(published, m)
	}
}

// run runs a cell that must not fail, and returns its result, or what it has printed.
func (c *client) run(cell string) string {
	c.t.Helper()
	reply, published := c.finish(c.send(cell))
	require.Equal(c.t, "ok", reply.text("status"), "%s", reply.text("evalue"))
	out := ""
	for _, m := range published {
		if m.Header.Type == "execute_result" {
			return m.plain()
		}
		out += m.text("text")
	}
	return out
}

// fail runs a cell that must fail, and returns its message.
func (c *client) fail(cell string) string {
	c.t.Helper()
	return c.failure(c.finish(c.send(cell)))
}

func (c *client) failure(reply message, published []message) string {
	c.t.Helper()
	require.Equal(c.t, "error", reply.text("status"))
	for _, m := range published {
		if m.Header.Type == "error" {
			require.Equal(c.t, reply.text("evalue"), m.text("evalue"))
			return m.text("evalue")
		}
	}
	require.FailNow(c.t, "a cell that fails shows no error")
	return ""
}

// waitFor waits until a running cell has printed a text.
func (c *client) waitFor(id, text string) {
	c.t.Helper()
	for printed := ""; !strings.Contains(printed, text); {
		if m := c.next(c.published); m.Parent.ID == id {
			printed += m.text("text") + m.plain()
		}
	}
}
