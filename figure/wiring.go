package figure

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
)

// Sizes of wiring diagrams, in px.
const (
	nodePitch   = 25.0 // from node to node
	nodesLeast  = 380.0
	pitchMost   = 60.0 // where there are few
	nodesHeight = 1500.0
	nodeHeight  = 18.0
	nodeMost    = 150.0 // a name's length
	wiringWidth = 4200.0
	edgesMost   = 1500 // the strongest are drawn
	gapLeast    = 30.0 // from column to column
	gapMost     = 130.0
)

// boxColor is that of nodes' boxes.
var boxColor = color.NRGBA{R: 0xf6, G: 0xf6, B: 0xf6, A: 0xff}

// diagram is where a wiring diagram's nodes are: columns from the left by layer.
type diagram struct {
	columns []column
	boxes   []nodeBox // of each node
	pitch   float64   // from node to node
	width   float64
	height  float64
	size    float64 // of the names
}

type column struct {
	nodes       []int
	left, width float64
}

// nodeBox is a node's box: its column, left and right edge, and middle.
type nodeBox struct {
	column      int
	left, right float64
	y           float64
}

// diagram lays the nodes out.
func (w Wiring) diagram(t typesetter) diagram {
	b := diagram{boxes: make([]nodeBox, len(w.Nodes)), pitch: nodePitch, size: tickSize}
	layers := make(map[int][]int)
	for i, node := range w.Nodes {
		layers[node.Layer] = append(layers[node.Layer], i)
	}
	most := 0
	for _, nodes := range layers {
		most = max(most, len(nodes))
	}
	if b.pitch = min(max(nodePitch, min(pitchMost, nodesLeast/float64(most))), nodesHeight/float64(most)); b.pitch < 14 {
		b.size = tinySize
	}
	b.height = b.pitch * float64(most)
	count := len(layers)
	names := max(30, min(nodeMost, wiringWidth/float64(count)-30))
	if names < 70 {
		b.size = tinySize
	}
	gap := 0.0
	for layer := range layers {
		b.columns = append(b.columns, column{nodes: layers[layer]})
	}
	slices.SortFunc(b.columns, func(c, d column) int { return cmp.Compare(w.Nodes[c.nodes[0]].Layer, w.Nodes[d.nodes[0]].Layer) })
	for i := range b.columns {
		b.columns[i].width = 14 + min(names, t.widest(w.names(b.columns[i].nodes), b.size))
		b.width += b.columns[i].width
	}
	if count > 1 {
		gap = max(gapLeast, min(gapMost, (pageWidth-b.width)/float64(count-1)))
	}
	b.width = 0
	for i := range b.columns {
		b.columns[i].left = b.width
		b.width += b.columns[i].width + gap
		b.placeColumn(i)
	}
	b.width -= gap
	return b
}

// placeColumn gives the nodes of column c their places, the column centred.
func (b diagram) placeColumn(c int) {
	col := b.columns[c]
	top := (b.height - b.pitch*float64(len(col.nodes))) / 2
	for i, node := range col.nodes {
		b.boxes[node] = nodeBox{c, col.left, col.left + col.width, top + (float64(i)+0.5)*b.pitch}
	}
}

func (w Wiring) names(nodes []int) []string {
	names := make([]string, len(nodes))
	for i, node := range nodes {
		names[i] = Name(w.Nodes[node].Name)
	}
	return names
}

// strongest returns the edges that are drawn, the strongest last, and the largest |weight|.
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
	top, right, below := b.overhang(edges)
	bottom := top + b.height + below + 12
	return picture{b.width + right, bottom + lineHeight*float64(len(notes)), func(p painter) {
		body := p.moved(0, top)
		for _, e := range edges {
			body.edge(b.edgeCurve(e), e.Weight, math.Abs(e.Weight)/largest)
		}
		for c, col := range b.columns {
			b.paintNodes(body, c, w.names(col.nodes))
		}
		for i, line := range notes {
			p.text(0, bottom+(float64(i)+0.5)*lineHeight, line, textStyle{size: noteSize, color: grey})
		}
	}}
}

// note explains the edges.
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

// edgeCurve is an edge's cubic Bezier curve: from, two control points, to.
type edgeCurve struct {
	points [4][2]float64
	back   bool // not to a later column: it needs an arrowhead
}

// edgeCurve leads an edge from the right of a node to the left of one in a later column, above the
// columns between; around on the right to one of the same column; from the left of a node to the
// right of one in an earlier column, below.
func (b diagram) edgeCurve(e WiringEdge) edgeCurve {
	from, to := b.boxes[e.From], b.boxes[e.To]
	apart := to.column - from.column
	bow := min(70, 0.8*min(b.pitch, nodePitch)*math.Abs(float64(apart))) // of edges past columns
	switch {
	case e.From == e.To:
		return edgeCurve{[4][2]float64{{from.right, from.y - 3}, {from.right + 50, from.y - 26}, {to.right + 50, to.y + 26}, {to.right + 3, to.y + 3}}, true}
	case apart == 0:
		out := from.right + min(90, 30+0.3*math.Abs(to.y-from.y))
		return edgeCurve{[4][2]float64{{from.right, from.y}, {out, from.y}, {out, to.y}, {to.right + 3, to.y}}, true}
	case apart < 0:
		reach := 0.45 * (from.left - to.right)
		return edgeCurve{[4][2]float64{{from.left, from.y}, {from.left - reach, from.y + bow + 12}, {to.right + reach, to.y + bow + 12}, {to.right + 3, to.y}}, true}
	}
	if apart == 1 {
		bow = 0
	}
	reach := 0.45 * (to.left - from.right)
	return edgeCurve{[4][2]float64{{from.right, from.y}, {from.right + reach, from.y - bow}, {to.left - reach, to.y - bow}, {to.left, to.y}}, false}
}

// overhang is how far edges reach out of the diagram.
func (b diagram) overhang(edges []WiringEdge) (top, right, bottom float64) {
	for _, e := range edges {
		const steps = 16
		w := b.edgeCurve(e)
		for i := range steps {
			x, y := w.at(float64(i) / steps)
			top, right, bottom = max(top, 3-y), max(right, x+3-b.width), max(bottom, y+3-b.height)
		}
	}
	return math.Ceil(top), math.Ceil(right), math.Ceil(bottom)
}

// at is the curve's point at t in [0, 1].
func (w edgeCurve) at(t float64) (x, y float64) {
	u := 1 - t
	weights := [4]float64{u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t}
	for i, p := range w.points {
		x, y = x+weights[i]*p[0], y+weights[i]*p[1]
	}
	return x, y
}

// edge draws an edge of a relative strength.
func (p painter) edge(w edgeCurve, weight, strength float64) {
	c := Signed(weight)
	c.A = uint8(math.Round(255 * (0.12 + 0.78*strength)))
	width := 0.6 + 3.2*strength
	p.curve(w.points[0], w.points[1], w.points[2], w.points[3], c, width)
	if w.back {
		p.arrowhead(w.points[3][0]-3, w.points[3][1], 3+width, c)
	}
}

// arrowhead draws a triangle that points to the left.
func (p painter) arrowhead(x, y, size float64, c color.Color) {
	p.canvas.SetColor(c)
	path := p.rectangle(x, y, 0, 0)[:1]
	path.Line(p.point(x+1.4*size, y-0.7*size))
	path.Line(p.point(x+1.4*size, y+0.7*size))
	path.Close()
	p.canvas.Fill(path)
}

// paintNodes draws a column's boxes and names; crowded, every few names.
func (b diagram) paintNodes(p painter, c int, names []string) {
	col := b.columns[c]
	box := min(nodeHeight, 0.9*b.pitch)
	shown := every(b.pitch, b.size+1)
	for i, node := range col.nodes {
		at := b.boxes[node]
		p.fill(at.left, at.y-box/2, col.width, box, boxColor)
		if box > 4 {
			p.frame(at.left, at.y-box/2, col.width, box, outline)
		}
		if i%shown == 0 {
			name := p.cut(names[i], b.size, col.width-10, false)
			p.text(at.left+col.width/2, at.y, name, textStyle{size: b.size, align: 0.5})
		}
	}
}
