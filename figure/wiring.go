package figure

import (
	"cmp"
	"fmt"
	"image/color"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
)

// Sizes of wiring diagrams, in px.
const (
	wiringWidth = 950.0 // width of the rows
	nodeMost    = 150.0 // largest length of a node's name
	nodeGap     = 6.0   // distance between nodes
	nodeHeight  = 18.0
	rowPitch    = 58.0 // distance between rows
	rowLeast    = 30.0 // the same if there are many rows
	rowsHeight  = 2400.0
	rowName     = 150.0
	edgesMost   = 120 // largest number of edges drawn, the strongest
	viaMost     = 60  // with more edges, labels do not say what an edge is read as
)

// boxColor fills the boxes of nodes.
var boxColor = color.NRGBA{R: 0xf6, G: 0xf6, B: 0xf6, A: 0xff}

// diagram holds the positions of a wiring diagram's nodes: rows from the top down by layer.
type diagram struct {
	rows          []wiringRow
	boxes         []nodeBox // one per node
	left          float64   // left end of the rows, right of their names
	width, height float64
}

// wiringRow holds the nodes of a layer. What their names have in common is written once, at the
// left.
type wiringRow struct {
	nodes []int
	name  string
	y     float64 // middle of the row
	box   float64 // width of a node
	pitch float64 // distance between nodes

	widest float64 // widest of the nodes' captions
}

// nodeBox is the box of a node: its row, its middle, half its width.
type nodeBox struct {
	row     int
	x, y    float64
	half    float64
	caption string
}

// diagram lays out the nodes.
func (w Wiring) diagram(t typesetter) diagram {
	layers := make(map[int][]int)
	for i, node := range w.Nodes {
		layers[node.Layer] = append(layers[node.Layer], i)
	}
	b := diagram{boxes: make([]nodeBox, len(w.Nodes))}
	for _, layer := range slices.Sorted(maps.Keys(layers)) {
		b.rows = append(b.rows, wiringRow{nodes: layers[layer]})
	}
	pitch := max(rowLeast, min(rowPitch, rowsHeight/float64(len(b.rows))))
	for i := range b.rows {
		row := &b.rows[i]
		row.y = (float64(i) + 0.5) * pitch
		names := w.captions(row)
		row.name = t.cut(row.name, tickSize, rowName, false)
		b.left = max(b.left, t.width(row.name, tickSize, false))
		row.pitch = wiringWidth / float64(len(names))
		row.widest = t.widest(names, tickSize)
		row.box = max(4, min(nodeMost, row.widest+14, row.pitch-nodeGap))
		row.pitch = min(row.pitch, max(2.2*row.box, 90))
		for k, node := range row.nodes {
			b.boxes[node] = nodeBox{row: i, y: row.y, half: row.box / 2, caption: names[k]}
		}
		b.width = max(b.width, row.pitch*float64(len(names)))
	}
	if b.left > 0 {
		b.left += 14
	}
	middle, aside := b.left+b.width/2, 0.0
	for i, row := range b.rows {
		for k, node := range row.nodes {
			b.boxes[node].x = middle + (float64(k)-float64(len(row.nodes)-1)/2)*row.pitch
			if len(row.nodes) == 1 && i > 0 && i < len(b.rows)-1 && len(w.Nodes) > len(b.rows) { // move it out of the way of other edges
				b.boxes[node].x = b.left + b.width + row.box/2
				aside = max(aside, row.box)
			}
		}
	}
	b.width += aside
	b.width, b.height = b.left+b.width, pitch*float64(len(b.rows))
	return b
}

// captions sets the texts in the boxes of a row: the names, or, if all are the same up to their
// last point or space, the rest of each name, with the common part as the row's name.
func (w Wiring) captions(row *wiringRow) []string {
	names := make([]string, len(row.nodes))
	for i, node := range row.nodes {
		names[i] = Name(w.Nodes[node].Name)
	}
	end := strings.LastIndexAny(names[0], ". ")
	if len(names) < 2 || end < 0 {
		return names
	}
	common := names[0][:end+1]
	for _, name := range names {
		if !strings.HasPrefix(name, common) || len(name) == len(common) || strings.ContainsAny(name[len(common):], ". ") {
			return names
		}
	}
	row.name = strings.TrimRight(common, ". ")
	for i := range names {
		names[i] = names[i][len(common):]
	}
	return names
}

// strongest returns the edges to draw, the strongest last, and the largest |weight|.
func (w Wiring) strongest() ([]WiringEdge, float64) {
	var edges []WiringEdge
	for _, e := range w.Edges {
		if finite(e.Weight) && e.Weight != 0 {
			edges = append(edges, e)
		}
	}
	slices.SortStableFunc(edges, func(a, b WiringEdge) int {
		return cmp.Compare(math.Abs(a.Weight), math.Abs(b.Weight))
	})
	if len(edges) == 0 {
		return nil, 0
	}
	return edges[max(0, len(edges)-edgesMost):], math.Abs(edges[len(edges)-1].Weight)
}

func (w Wiring) layout(t typesetter) picture {
	b := w.diagram(t)
	edges, largest := w.strongest()
	notes := t.wrap(w.note(len(edges), largest), noteSize, max(b.width, 260), false, 3)
	const lineHeight = 14.0
	left, right := b.overhang(edges)
	bottom := b.height + 12
	return picture{left + b.width + right, bottom + lineHeight*float64(len(notes)), 0, func(p painter) {
		body := p.moved(left, 0)
		for _, e := range edges {
			body.edge(b.edgeCurve(e), e.Weight, math.Abs(e.Weight)/largest)
		}
		if len(edges) <= viaMost {
			for _, e := range edges {
				x, y := b.edgeCurve(e).at(0.88)
				body.text(x+4, y, e.Via, textStyle{size: tinySize, color: grey})
			}
		}
		for _, row := range b.rows {
			b.paintRow(body, row)
		}
		for i, line := range notes {
			p.text(0, bottom+(float64(i)+0.5)*lineHeight, line, textStyle{size: noteSize, color: grey})
		}
	}}
}

// note returns the text that explains the edges.
func (w Wiring) note(drawn int, largest float64) string {
	if drawn == 0 {
		return "no edges"
	}
	note := fmt.Sprintf("width and opacity: |weight|, up to %s; red: above 0, blue: below", number(largest))
	if total := len(w.Edges); total > edgesMost && drawn == edgesMost {
		note += fmt.Sprintf("; the %d strongest of %d edges", drawn, total)
	}
	return note
}

// edgeCurve is the cubic Bezier curve of an edge: start, two control points, end.
type edgeCurve struct {
	points [4][2]float64
	back   bool // does not lead to a later row, so that it needs an arrowhead
}

// edgeCurve leads an edge from the bottom of a node to the top of a node in a later row, around the
// rows between, in a wider curve the more of them there are. To a node in the same row or an
// earlier one it leads around on the right.
func (b diagram) edgeCurve(e WiringEdge) edgeCurve {
	from, to := b.boxes[e.From], b.boxes[e.To]
	apart := to.row - from.row
	if apart <= 0 {
		out, lift := max(from.x+from.half, to.x+to.half)+30+min(60, 0.3*math.Abs(from.y-to.y)), 0.0
		if e.From == e.To {
			lift = 6
		}
		return edgeCurve{[4][2]float64{{from.x + from.half, from.y - lift/2}, {out, from.y - 3*lift}, {out, to.y + 3*lift}, {to.x + to.half + 3, to.y + lift/2}},
			true}
	}
	foot, head := from.y+nodeHeight/2, to.y-nodeHeight/2
	reach := 0.45 * (head - foot)
	bow := 0.0
	if apart > 1 {
		bow = min(b.width/3, 26*float64(apart)) * max(0.25, 1-math.Abs(to.x-from.x)/300)
		if to.x < from.x || to.x == from.x && (e.From+e.To)%2 > 0 {
			bow = -bow
		}
		if out := 0.75 * bow; min(from.x, to.x)+out < 0 || max(from.x, to.x)+out > b.width {
			bow = -bow
		}
	}
	return edgeCurve{[4][2]float64{{from.x, foot}, {from.x + bow, foot + reach}, {to.x + bow, head - reach}, {to.x, head}}, false}
}

// overhang returns how far edges extend beyond the diagram.
func (b diagram) overhang(edges []WiringEdge) (left, right float64) {
	for _, e := range edges {
		const steps = 16
		w := b.edgeCurve(e)
		for i := range steps {
			x, _ := w.at(float64(i) / steps)
			left, right = max(left, 3-x), max(right, x+3-b.width)
		}
	}
	return math.Ceil(left), math.Ceil(right)
}

// at returns the curve's point at t in [0, 1].
func (w edgeCurve) at(t float64) (x, y float64) {
	u := 1 - t
	weights := [4]float64{u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t}
	for i, p := range w.points {
		x, y = x+weights[i]*p[0], y+weights[i]*p[1]
	}
	return x, y
}

// edge draws an edge with the given relative strength.
func (p painter) edge(w edgeCurve, weight, strength float64) {
	c := Signed(weight)
	c.A = uint8(math.Round(255 * (0.12 + 0.78*strength)))
	width := 0.6 + 3.2*strength
	p.curve(w.points, c, width)
	if w.back {
		p.arrowhead(w.points[3][0]-3, w.points[3][1], 3+width, c)
	}
}

// arrowhead draws a triangle that points to the left.
func (p painter) arrowhead(x, y, size float64, c color.Color) {
	p.canvas.SetColor(c)
	var path vg.Path
	path.Move(p.point(x, y))
	path.Line(p.point(x+1.4*size, y-0.7*size))
	path.Line(p.point(x+1.4*size, y+0.7*size))
	path.Close()
	p.canvas.Fill(path)
}

// paintRow draws a row's name, boxes and captions, or only every few captions if the row is
// crowded.
func (b diagram) paintRow(p painter, row wiringRow) {
	p.text(0, row.y, row.name, textStyle{size: tickSize, color: grey})
	shown := 1
	if row.widest+4 > row.box {
		shown = every(row.pitch, min(row.widest, nodeMost)+4)
	}
	for i, node := range row.nodes {
		at := b.boxes[node]
		corner := p.moved(at.x-at.half, at.y-nodeHeight/2)
		corner.fill(0, 0, 2*at.half, nodeHeight, boxColor)
		frame(corner.within(2*at.half, nodeHeight))
		if i%shown == 0 {
			caption := p.cut(at.caption, tickSize, max(row.box-6, row.pitch*float64(shown)-4), false)
			p.text(at.x, at.y, caption, textStyle{size: tickSize, align: 0.5})
		}
	}
}
