// Package statusline redraws one line at the end of a terminal's output.
package statusline

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Control sequences. After drawing, the cursor is on the line's first character. If the terminal
// becomes narrower and wraps the line, the cursor stays where the first part begins, so that all
// parts are erased. While the line is drawn it is cut off, not wrapped.
const (
	erase   = "\r\x1b[J" // erases from the start of the line to the end of the screen
	cut     = "\x1b[?7l"
	dontCut = "\x1b[?7h"
)

// usualColumns is the width assumed for a terminal that does not report one.
const usualColumns = 80

// Line is the last line of a terminal. Only one goroutine may use it at a time.
type Line struct {
	w     io.Writer
	shown bool
}

// New returns a line of a terminal; it shows nothing yet.
func New(w io.Writer) *Line { return &Line{w: w} }

// Columns returns how many characters fit in a line of the terminal.
func (l *Line) Columns() int {
	return cmp.Or(Columns(l.w), usualColumns)
}

// Columns returns how many characters fit in a line of a terminal, or 0 if w is no terminal or one
// that does not report its width.
func Columns(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil {
			return max(0, columns)
		}
	}
	return 0
}

// Bar draws a share between 0 and 1 as "[====      ]", width characters between brackets.
func Bar(share float64, width int) string {
	filled := min(width, max(0, int(float64(width)*share)))
	return "[" + strings.Repeat("=", filled) + strings.Repeat(" ", width-filled) + "]"
}

// Draw replaces the line's text, cut to the terminal's width.
func (l *Line) Draw(text string) { l.draw("", text) }

// Above prints a line that stays, above the text, which is redrawn.
func (l *Line) Above(line, text string) { l.draw(line+"\n", text) }

func (l *Line) draw(above, text string) {
	l.shown = true
	fmt.Fprint(l.w, erase+above+cut+l.fitting(text)+"\r"+dontCut)
}

// Clear removes the line.
func (l *Line) Clear() {
	if l.shown {
		fmt.Fprint(l.w, erase)
	}
	l.shown = false
}

// Leave replaces the line by a text that stays.
func (l *Line) Leave(text string) {
	fmt.Fprint(l.w, erase+l.fitting(text)+"\n")
	l.shown = false
}

// fitting returns as much of a text as fits in the terminal's width.
func (l *Line) fitting(text string) string {
	characters := []rune(text)
	return string(characters[:min(len(characters), l.Columns())])
}
