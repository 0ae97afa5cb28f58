//go:build !windows

package clitest

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
	"github.com/stretchr/testify/require"
)

// terminalTimeout limits every wait for a program on a terminal.
const terminalTimeout = 2 * time.Minute

// Terminal runs a program on a pseudo-terminal, as a person would, and keeps what the screen shows.
type Terminal struct {
	t      *testing.T
	cmd    *exec.Cmd
	tty    *os.File
	screen vt10x.Terminal
	reflow *Reflow
	ended  chan struct{} // closed when the program has ended and all its output is on the screen

	mu  sync.Mutex
	raw bytes.Buffer
}

// StartTerminal starts a program on a terminal of columns x rows.
func StartTerminal(t *testing.T, cmd *exec.Cmd, columns, rows int) *Terminal {
	t.Helper()
	if cmd.Env == nil {
		cmd.Env = append(os.Environ(), "TERM=xterm-256color")
	}
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)})
	require.NoError(t, err)
	s := &Terminal{t: t, cmd: cmd, tty: tty, screen: vt10x.New(vt10x.WithSize(columns, rows)), reflow: NewReflow(columns), ended: make(chan struct{})}
	go s.copy()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-s.ended
		_ = tty.Close()
	})
	return s
}

// copy draws the program's output on the screen until the program ends.
func (s *Terminal) copy() {
	defer close(s.ended)
	buffer := make([]byte, 4096)
	for {
		n, err := s.tty.Read(buffer)
		s.mu.Lock()
		s.raw.Write(buffer[:n])
		s.mu.Unlock()
		_, _ = s.screen.Write(buffer[:n])
		_, _ = s.reflow.Write(buffer[:n])
		if err != nil { // EIO: the program and its children have closed the terminal
			_ = s.cmd.Wait()
			return
		}
	}
}

// Screen returns the lines that the terminal shows, without trailing spaces and empty lines.
func (s *Terminal) Screen() string {
	lines := strings.Split(s.screen.String(), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// Reflowed returns the screen of a terminal that wraps its lines again when it is resized; Screen's
// terminal cuts them off.
func (s *Terminal) Reflowed() string { return s.reflow.String() }

// Raw returns every byte that the program has written, control sequences included.
func (s *Terminal) Raw() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.raw.String()
}

// Resize gives the terminal another size.
func (s *Terminal) Resize(columns, rows int) {
	s.t.Helper()
	require.NoError(s.t, pty.Setsize(s.tty, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)}))
	s.screen.Resize(columns, rows)
	s.reflow.Resize(columns)
}

// Type sends keys to the program; "\x03" is Ctrl-C.
func (s *Terminal) Type(keys string) {
	s.t.Helper()
	_, err := s.tty.WriteString(keys)
	require.NoError(s.t, err)
}

// Await waits until wanted accepts the screen and returns it.
func (s *Terminal) Await(what string, wanted func(screen string) bool) string {
	s.t.Helper()
	for deadline := time.Now().Add(terminalTimeout); ; time.Sleep(5 * time.Millisecond) {
		screen := s.Screen()
		if wanted(screen) {
			return screen
		}
		select {
		case <-s.ended:
			if screen = s.Screen(); wanted(screen) {
				return screen
			}
			require.FailNow(s.t, "the program ended before "+what, screen)
		default:
			require.True(s.t, time.Now().Before(deadline), "no %s on the screen:\n%s", what, screen)
		}
	}
}

// Wait waits for the program's end and returns its exit code and the last screen.
func (s *Terminal) Wait() (code int, screen string) {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(terminalTimeout):
		require.FailNow(s.t, "the program does not end", s.Screen())
	}
	return s.cmd.ProcessState.ExitCode(), s.Screen()
}
