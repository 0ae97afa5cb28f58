package eval

import (
	"fmt"
	"math"
	"strconv"

	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/figure"
)

func quoted(text string) string { return strconv.Quote(text) }

// groupTable lists a model's groups: positions in ranges that double in length, tokens and
// documents with the largest share of the loss.
func (c *call) groupTable(s textScore, named bool) figure.Table {
	t := figure.NewTable("", "rrrrr", c.By, "tokens", "loss", "bits per byte", "share of the loss")
	if named {
		t.Title = s.checkpoint
	}
	row := func(name string, g eval.Group) {
		bits := "-"
		if !math.IsNaN(g.BitsPerByte) {
			bits = fmt.Sprintf("%.4f", g.BitsPerByte)
		}
		t.Row(name, fmt.Sprint(g.Tokens), within("%.4f", g.Loss, g.Error), bits, fmt.Sprintf("%.2f%%", 100*g.Share))
	}
	if c.By == eval.ByPosition {
		for _, g := range ranges(s.groups, 2) {
			row(g.name, g.Group)
		}
		return t
	}
	for _, g := range eval.Largest(s.groups, c.Top) {
		row(groupName(g), g)
	}
	return t
}

// groupName returns a token's text, or a document's number and beginning.
func groupName(g eval.Group) string {
	if g.Text == "" {
		return fmt.Sprint(g.Key)
	}
	return fmt.Sprintf("%d %s", g.Key, quoted(g.Text))
}

// span holds the sums over a range of positions.
type span struct {
	name string
	eval.Group
}

// ranges joins positions into ranges, each growth times as far as the one before: with 2, the
// ranges are 1, 2, 3-4, 5-8, 9-16.
func ranges(groups []eval.Group, growth float64) []span {
	var spans []span
	for from, to := 0, 1; from < len(groups); from, to = to, max(to+1, int(growth*float64(to))) {
		to = min(to, len(groups))
		var all, nats, scaled float64 // tokens, their summed loss, and ln 2 times the bytes of their text
		g := eval.Group{}
		variance := 0.0 // variance of the sum of the losses
		for _, p := range groups[from:to] {
			n := float64(p.Tokens)
			all, nats, g.Share = all+n, nats+n*p.Loss, g.Share+p.Share
			if !math.IsNaN(p.BitsPerByte) { // otherwise the text is unknown
				scaled += p.Loss * n / p.BitsPerByte
			}
			variance += n * n * p.Error * p.Error
		}
		g.Tokens, g.Loss, g.Perplexity, g.BitsPerByte, g.Error = int(all), nats/all, math.Exp(nats/all), nats/scaled, math.Sqrt(variance)/all
		if scaled == 0 {
			g.BitsPerByte = math.NaN()
		}
		name := fmt.Sprint(groups[from].Key)
		if to > from+1 {
			name = fmt.Sprintf("%d-%d", groups[from].Key, groups[to-1].Key)
		}
		g.Key = (groups[from].Key + groups[to-1].Key) / 2
		spans = append(spans, span{name, g})
	}
	return spans
}

// finer is the growth of the ranges in the picture.
const finer = 1.25

// draw draws the groups: for positions a line per checkpoint, in ranges that grow by a quarter,
// with standard errors; for tokens or documents bars.
func (c *call) draw(all []textScore) figure.Figure {
	if c.By == eval.ByPosition {
		chart := figure.Lines{Title: "Loss by position", XLabel: "position in the window", YLabel: "loss (nats a token)", LogX: true}
		for _, s := range all {
			line := figure.Series{Name: s.checkpoint, Marks: true}
			for _, g := range ranges(s.groups, finer) {
				line.Add(float64(g.Key), g.Loss, g.Error)
			}
			chart.Series = append(chart.Series, line)
		}
		return chart
	}
	bars := figure.Bars{Title: "Share of the loss by " + c.By, YLabel: "share of the summed loss (%)", Format: "%.1f"}
	for _, g := range eval.Largest(all[0].groups, c.Top) {
		bars.Add(groupName(g), 100*g.Share)
	}
	return bars
}
