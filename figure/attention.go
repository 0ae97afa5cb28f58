package figure

import (
	"fmt"
	"math"
)

// Sizes of attention grids, in px.
const (
	headCell     = 12.0 // a cell's side if every token is written
	gridHeight   = 1400.0
	headGap      = 18.0
	headTitle    = 18.0
	tokenMost    = 80.0
	headLeast    = 48.0
	headMost     = 420.0
	headLabelled = 240.0 // from this side on some tokens are written if not all fit
	headsMost    = 240
)

// headGrid is the layout of the heads' heatmaps.
type headGrid struct {
	tokens []string
	heads  int
	across int
	side   float64
	names  axis // room 0: no tokens are written
}

func (g headGrid) down() int           { return (g.heads + g.across - 1) / g.across }
func (g headGrid) panelWidth() float64 { return g.names.room + g.side }
func (g headGrid) panelHeight() float64 {
	return headTitle + g.side + g.names.room
}
func (g headGrid) width() float64 {
	return float64(g.across)*(g.panelWidth()+headGap) - headGap
}
func (g headGrid) height() float64 {
	return float64(g.down())*(g.panelHeight()+headGap) - headGap
}

// grid lays out the heads: all tokens written if that fits, else small heatmaps.
func (a Attention) grid(t typesetter) headGrid {
	n := len(a.Tokens)
	g := headGrid{heads: min(len(a.Patterns), headsMost), tokens: make([]string, n)}
	for i, token := range a.Tokens {
		g.tokens[i] = t.cut(Label(token), noteSize, tokenMost, false)
	}
	labelled := g
	labelled.side = headCell * float64(n)
	labelled.names = axis{step: headCell, every: 1, room: math.Ceil(t.widest(g.tokens, noteSize)) + 6}
	labelled.across = max(1, min(int(math.Ceil(math.Sqrt(float64(g.heads)))), int((pageWidth+headGap)/(labelled.panelWidth()+headGap))))
	if labelled.width() <= pageWidth && labelled.height() <= gridHeight {
		return labelled
	}
	g.across = max(1, min(g.heads, 16, int(math.Ceil(math.Sqrt(1.5*float64(g.heads))))))
	g.side = max(headLeast, min(headMost, math.Floor((pageWidth+headGap)/float64(g.across)-headGap)))
	if cell := math.Floor(density*g.side/float64(n)) / density; cell > 0 {
		g.side = cell * float64(n) // cells of whole pixels
	}
	if g.side >= headLabelled && g.across <= 2 {
		step := g.side / float64(n)
		g.names = axis{step: step, every: every(step, labelPitch), room: labelled.names.room}
	}
	return g
}

func (a Attention) layout(t typesetter) picture {
	g := a.grid(t)
	colours := a.colouring()
	bar := colours.bar(t, math.Round(max(barLeast, min(barMost, g.height()-headTitle))))
	note := "rows: queries, columns: keys"
	if g.names.room == 0 {
		note += fmt.Sprintf("; %d tokens", len(a.Tokens))
	}
	if len(a.Patterns) > g.heads {
		note += fmt.Sprintf("; the first %d of %d heads", g.heads, len(a.Patterns))
	}
	const foot = 20.0
	names := namesOf(a.Heads, len(a.Patterns))
	if a.Heads == nil {
		for i := range names {
			names[i] = "head " + names[i]
		}
	}
	return picture{g.width() + barGap + bar.width, max(g.height(), headTitle+bar.height+6) + foot, func(p painter) {
		for h := range g.heads {
			at := p.moved(float64(h%g.across)*(g.panelWidth()+headGap)+g.names.room, float64(h/g.across)*(g.panelHeight()+headGap))
			title := p.cut(names[h], tickSize, g.side, true)
			at.text(g.side/2, headTitle/2, title, textStyle{align: 0.5, bold: true})
			g.paintHead(at.moved(0, headTitle), colours, a.Patterns[h])
		}
		if !colours.none {
			bar.paint(p.moved(g.width()+barGap, headTitle))
		}
		p.text(0, max(g.height(), headTitle+bar.height+6)+foot-noteSize/2, note, textStyle{size: noteSize, color: grey})
	}}
}

// paintHead draws a head's heatmap with its tokens.
func (g headGrid) paintHead(p painter, colours colouring, pattern [][]float64) {
	pixels := int(math.Round(g.side * density))
	p.image(0, 0, g.side, g.side, colours.image(pattern, pixels, pixels))
	p.frame(0, 0, g.side, g.side, outline)
	if g.names.room == 0 {
		return
	}
	for i := 0; i < len(g.tokens); i += g.names.every {
		at := (float64(i) + 0.5) * g.names.step
		p.text(-4, at, g.tokens[i], textStyle{size: noteSize, align: 1})
		p.text(at, g.side+4, g.tokens[i], textStyle{size: noteSize, align: 1, upward: true})
	}
}

// colouring is the colours of all heads: from 0 to the largest value, around 0 if some are below.
func (a Attention) colouring() colouring {
	var rows [][]float64
	for _, pattern := range a.Patterns {
		rows = append(rows, pattern...)
	}
	c := colouringOf(rows, false)
	if c.low < 0 {
		return colouringOf(rows, true)
	}
	c.scale, c.low = Intensity(), 0
	if c.high == 0 {
		c.high = 1
	}
	return c
}
