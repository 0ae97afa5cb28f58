//go:build !windows

package commandline

import (
	"bufio"
	"io"
	"os"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// drawn returns what a progress of eight questions writes to a terminal, or to a file, after the
// given time, with a mark at the end.
func drawn(t *testing.T, terminal bool, long time.Duration, draw func(*Progress)) string {
	read, write, err := os.Pipe()
	require.NoError(t, err)
	if terminal {
		t.Setenv("TERM", "xterm")
		read, write, err = pty.Open()
		require.NoError(t, err)
	}
	defer read.Close()
	defer write.Close()
	p := NewProgress(Output{Stderr: write}, "questions")
	p.began, p.next = p.began.Add(-long), p.next.Add(-long)
	draw(p)
	p.End()
	_, err = io.WriteString(write, "|")
	require.NoError(t, err)
	text, err := bufio.NewReader(read).ReadString('|') // a terminal may pass it on in parts
	require.NoError(t, err)
	return text
}

// TestProgressIsDrawnOnATerminalAfterTwoSeconds: progress is shown only on a terminal, and removed
// at the end.
func TestProgressIsDrawnOnATerminalAfterTwoSeconds(t *testing.T) {
	show := func(p *Progress) { p.Show(0, 8); p.Show(3, 8); p.Show(4, 8) } // the second time too soon
	assert.Equal(t, "\r\x1b[J\x1b[?7l[=======             ] 3/8 questions, 5s left\r\x1b[?7h\r\x1b[J|", drawn(t, true, 3*time.Second, show))
	assert.Equal(t, "\r\x1b[J\x1b[?7lquestions: 12s\r\x1b[?7h\r\x1b[J|", drawn(t, true, 12*time.Second, (*Progress).Tick))
	rate := func(p *Progress) { p.Rate(10e6, 100e6, 10e6); p.Rate(1_010e6, 2_010e6, 10e6) } // the first says nothing yet
	assert.Regexp(t, `\[={10} {10}\] 1,010/2,010 questions, (100\.0|99\.9) MB/s, 10s left`, drawn(t, true, 10*time.Second, rate))
	share := func(p *Progress) {
		p.Share(0.25) // was done before
		p.began = p.began.Add(-10 * time.Second)
		p.Share(0.5)
	}
	assert.Contains(t, drawn(t, true, 10*time.Second, share), "[==========          ] 50% questions, 20s left")
	assert.Equal(t, "|", drawn(t, false, 12*time.Second, share))
	assert.Regexp(t, `^\r\x1b\[J\x1b\[\?7l\[=+ +\] 3/8 .*left\r\x1b\[\?7h\r\x1b\[Jnote: news\r\n\r\x1b\[J\x1b\[\?7l\[=+ +\] 3/8 .*left\r\x1b\[\?7h\r\x1b\[J\|$`,
		drawn(t, true, 3*time.Second, func(p *Progress) { p.Show(3, 8); p.Note("news") }))
	assert.Equal(t, "note: news\n|", drawn(t, false, 3*time.Second, func(p *Progress) { p.Show(3, 8); p.Note("news") }))
	assert.Equal(t, "|", drawn(t, false, 12*time.Second, rate))
	assert.Equal(t, "|", drawn(t, true, time.Second, show))
	assert.Equal(t, "|", drawn(t, true, time.Second, (*Progress).Tick))
	assert.Equal(t, "|", drawn(t, false, 12*time.Second, (*Progress).Tick))
}
