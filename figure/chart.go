package figure

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	typeset "gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sizes of axes, in px.
const (
	labelMost  = 190.0 // largest length of a name
	labelPitch = 12.0  // distance between names
	tickLength = 3.0
)

// chart is a plot whose body, the area inside its axes, has a given size in px.
type chart struct {
	*plot.Plot
	typesetter    typesetter
	width, height float64
}

// chart returns an empty chart with a title and axes in the common style.
func (t typesetter) chart(title string, width, height float64) chart {
	c := chart{plot.New(), t, width, height}
	c.BackgroundColor = nil
	c.Title.Text, c.Title.Padding = t.cut(Visible(title), labelSize, width, true), 6*px
	c.Title.TextStyle = t.styled(c.Title.TextStyle, labelSize, true)
	for _, a := range []*plot.Axis{&c.X, &c.Y} {
		a.LineStyle, a.Padding = stroke(outline, 1), 0
		a.Tick.LineStyle, a.Tick.Length, a.Tick.Label = a.LineStyle, tickLength*px, t.styled(a.Tick.Label, tickSize, false)
		a.Label.TextStyle, a.Label.Padding = t.styled(a.Label.TextStyle, labelSize, false), 4*px
	}
	return c
}

// styled changes one of gonum's text styles to our font and size.
func (t typesetter) styled(s typeset.Style, size float64, bold bool) typeset.Style {
	s.Color, s.Font, s.Handler = black, sans(size, bold), t
	return s
}

// labels sets the axis labels.
func (c chart) labels(x, y string) {
	c.X.Label.Text = c.typesetter.cut(Visible(x), labelSize, max(c.width, 120), false)
	c.Y.Label.Text = c.typesetter.cut(Visible(y), labelSize, max(c.height, 90), false)
}

// names puts n labels along an axis at 0, 1, 2, ..., as many as fit; nil labels become numbers. On
// the horizontal axis they are written horizontally if all fit, or if they are numbers, otherwise
// vertically.
func (c chart) names(a *plot.Axis, labels []string, n int, most float64) {
	step := c.height / float64(n)
	if a == &c.X {
		step = c.width / float64(n)
	}
	names := namesOf(labels, n)
	for i := range names {
		names[i] = c.typesetter.cut(names[i], tickSize, most, false)
	}
	shown := every(step, labelPitch)
	if a == &c.X {
		if across := every(step, c.typesetter.widest(names, tickSize)+8); across == 1 || labels == nil {
			shown = across
		} else {
			a.Tick.Label.Rotation, a.Tick.Label.XAlign, a.Tick.Label.YAlign = math.Pi/2, draw.XRight, middle
		}
	}
	var ticks plot.ConstantTicks
	for i := 0; i < n; i += shown {
		if a.Tick.Label.Rotation != 0 {
			names[i] += " " // distance from the axis
		}
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: names[i]})
	}
	a.Min, a.Max, a.Tick.Marker = -0.5, float64(n)-0.5, ticks
}

// fromTheTop makes the vertical axis run downwards.
func (c chart) fromTheTop() { c.Y.Scale = plot.InvertedScale{Normalizer: plot.LinearScale{}} }

// drawing is a function that implements plot.Plotter.
type drawing func(draw.Canvas, *plot.Plot)

// Plot draws on the body.
func (d drawing) Plot(body draw.Canvas, p *plot.Plot) { d(body, p) }

// put adds a plotter without extending the axes.
func (c chart) put(p plot.Plotter) { c.Add(drawing(p.Plot)) }

// gridded draws grid lines at the numbers of the axes.
func (c chart) gridded(x, y bool) {
	grid := &plotter.Grid{}
	if x {
		grid.Vertical = stroke(faint, 1)
	}
	if y {
		grid.Horizontal = stroke(faint, 1)
	}
	c.Add(grid)
}

// image fills the body with the colours of the values.
func (c chart) image(colours colouring, values [][]float64) {
	c.Add(drawing(func(body draw.Canvas, _ *plot.Plot) {
		body.DrawImage(body.Rectangle, colours.image(values, int(math.Round(c.width*density)), int(math.Round(c.height*density))))
		frame(body)
	}))
}

// edges is the space that a chart's title and axes take around its body.
type edges struct{ left, top, right, bottom float64 }

// edges measures the space that title and axes take. gonum fits the body into what they leave of a
// given total, so edges searches for the total size whose body has the right size.
func (c chart) edges() edges {
	body := vg.Point{X: vg.Length(c.width) * px, Y: vg.Length(c.height) * px}
	whole := vg.Rectangle{Max: body.Add(vg.Point{X: pageWidth * px, Y: pageWidth * px})}
	var data draw.Canvas
	for range 24 {
		data = c.DataCanvas(draw.Canvas{Rectangle: whole})
		whole.Max = whole.Max.Add(body.Sub(data.Size()).Scale(0.5))
	}
	return edges{float64(data.Min.X / px), float64((whole.Max.Y - data.Max.Y) / px), float64((whole.Max.X - data.Max.X) / px), float64(data.Min.Y / px)}
}

// paint draws the chart with its body at the painter's corner.
func (c chart) paint(p painter) {
	e := c.edges()
	c.Draw(p.moved(-e.left, -e.top).within(e.left+c.width+e.right, e.top+c.height+e.bottom))
}

// tiled lays out charts with bodies of one size, several in a row, with their bodies aligned.
func tiled(charts []chart, across int, gap float64) picture {
	var room edges
	for _, c := range charts {
		e, low, long := c.edges(), c.X.Label.TextStyle.Width(c.X.Label.Text)/px, c.Y.Label.TextStyle.Width(c.Y.Label.Text)/px
		left, bottom := (float64(low)-c.width)/2, (float64(long)-c.height)/2 // if labels extend beyond the body
		room = edges{max(room.left, e.left, left), max(room.top, e.top), max(room.right, e.right), max(room.bottom, e.bottom, bottom)}
	}
	left, top := math.Ceil(room.left), math.Ceil(room.top)
	width, height := left+charts[0].width+math.Ceil(room.right)+gap, top+charts[0].height+math.Ceil(room.bottom)+gap
	down := (len(charts) + across - 1) / across
	return picture{float64(across)*width - gap, float64(down)*height - gap, top, func(p painter) {
		for i, c := range charts {
			c.paint(p.moved(float64(i%across)*width+left, float64(i/across)*height+top))
		}
	}}
}
