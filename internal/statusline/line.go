// Package statusline draws one line again and again in its place at the end of what a terminal shows.
package statusline

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// Control sequences. After the line is drawn the cursor stands on its first character: a terminal that
// becomes narrower may break the line in several, and still has the cursor where the first of them
// begins, so that all are erased. A line that is drawn is cut off, not broken.
const (
	erase   = "\r\x1b[J" // from the start of the line to the end of the screen
	cut     = "\x1b[?7l"
	dontCut = "\x1b[?7h"
)

// usualColumns is the width of a terminal that does not tell.
const usualColumns = 80

// Line is the last line of a terminal. It is for one goroutine at a time.
type Line struct {
	w     io.Writer
	shown bool
}

// New returns a line of a terminal, which shows nothing yet.
func New(w io.Writer) *Line { return &Line{w: w} }

// Columns is how many characters the terminal has room for side by side.
func (l *Line) Columns() int {
	if f, ok := l.w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return usualColumns
}

// Draw draws a text in the place of the last one: as much as the terminal has room for.
func (l *Line) Draw(text string) { l.draw("", text) }

// Above prints a line, which stays, above the text that is drawn again.
func (l *Line) Above(line, text string) { l.draw(line+"\n", text) }

func (l *Line) draw(above, text string) {
	l.shown = true
	fmt.Fprint(l.w, erase+above+cut+l.fitting(text)+"\r"+dontCut)
}

// Clear takes the line away.
func (l *Line) Clear() {
	if l.shown {
		fmt.Fprint(l.w, erase)
	}
	l.shown = false
}

// Leave lets a text stand where the line was.
func (l *Line) Leave(text string) {
	fmt.Fprint(l.w, erase+l.fitting(text)+"\n")
	l.shown = false
}

// fitting is the beginning of a text that the terminal has room for.
func (l *Line) fitting(text string) string {
	characters := []rune(text)
	return string(characters[:min(len(characters), l.Columns())])
}
