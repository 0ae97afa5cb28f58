//go:build !windows

package internal_test

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/commandline/clitest"
	"github.com/residua-go/residua/internal/statusline"
)

// screen is a terminal whose width changes.
type screen struct {
	t             *testing.T
	reader, files *os.File
	*clitest.Reflow
}

func newScreen(t *testing.T, columns int) *screen {
	reader, file, err := pty.Open()
	require.NoError(t, err)
	t.Cleanup(func() { _ = reader.Close(); _ = file.Close() })
	s := &screen{t, reader, file, clitest.NewReflow(columns)}
	s.resize(columns)
	return s
}

func (s *screen) resize(columns int) {
	require.NoError(s.t, pty.Setsize(s.reader, &pty.Winsize{Cols: uint16(columns), Rows: 30}))
	s.Resize(columns)
}

// shown returns what the terminal shows when it has read everything.
func (s *screen) shown() string {
	_, err := io.WriteString(s.files, "\x00")
	require.NoError(s.t, err)
	for buffer := make([]byte, 1); ; {
		_, err := s.reader.Read(buffer)
		require.NoError(s.t, err)
		if buffer[0] == 0 {
			return s.String()
		}
		_, _ = s.Write(buffer)
	}
}

// TestNothingStaleAfterResizing: if a narrower terminal breaks a line into several, nothing of the
// old line remains, however often that happens; news above stays.
func TestNothingStaleAfterResizing(t *testing.T) {
	s := newScreen(t, 100)
	line, long := statusline.New(s.files), strings.Repeat("0123456789", 12)
	line.Draw(long)
	assert.Equal(t, long[:100], s.shown())
	for _, columns := range []int{60, 40, 7, 90, 25} {
		s.resize(columns)
		line.Draw(long)
		assert.Equal(t, long[:columns], s.shown())
	}
	line.Above("news", "b")
	assert.Equal(t, "news\nb", s.shown())
	line.Draw(long)
	s.resize(10)
	line.Clear()
	assert.Equal(t, "news", s.shown())
	line.Clear()
	line.Draw("left")
	line.Leave("left " + long)
	assert.Equal(t, "news\nleft 01234", s.shown())
}

// TestDrawnWhileTheTerminalBecomesNarrower: a line made for more columns is cut off.
func TestDrawnWhileTheTerminalBecomesNarrower(t *testing.T) {
	s := newScreen(t, 100)
	line := statusline.New(s.files)
	line.Draw(strings.Repeat("x", 100))
	s.resize(40) // before the terminal has read it
	assert.Len(t, s.shown(), 40)
	line.Draw("short")
	assert.Equal(t, "short", s.shown())
}
