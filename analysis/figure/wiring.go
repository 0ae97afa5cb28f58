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
	nodePitch   = 25.0 // from node to node, the most
	nodesHeight = 1500.0
	nodeHeight  = 18.0
	nodeMost    = 150.0 // a name's length
	wiringWidth = 3600.0
	edgesMost   = 1500 // the strongest are drawn
)

// board is where a wiring diagram's nodes are: columns from the left by layer.
type board struct {
	columns []column
	place   []spot // of each node
	pitch   float64
	width   float64
	height  float64
	size    float64 // of the names
}

type column struct {
	nodes       []int
	left, width float64
}

// spot is a node's box: its column, edges' ends left and right, and middle.
type spot struct {
	column      int
	left, right float64
	y           float64
}

// board lays the nodes out.
func (w Wiring) board(l lettering) board {
	b := board{place: make([]spot, len(w.Nodes)), pitch: nodePitch, size: tickSize}
	layers := make(map[int][]int)
	for i, node := range w.Nodes {
		layers[node.Layer] = append(layers[node.Layer], i)
	}
	most := 0
	for _, nodes := range layers {
		most = max(most, len(nodes))
	}
	if b.pitch = min(nodePitch, nodesHeight/float64(most)); b.pitch < 14 {
		b.size = tinySize
	}
	b.height = b.pitch * float64(most)
	count := len(layers)
	names := max(30, min(nodeMost, wiringWidth/float64(count)-30))
	gap := 0.0
	for layer := range layers {
		b.columns = append(b.columns, column{nodes: layers[layer]})
	}
	slices.SortFunc(b.columns, func(c, d column) int { return cmp.Compare(w.Nodes[c.nodes[0]].Layer, w.Nodes[d.nodes[0]].Layer) })
	for i := range b.columns {
		b.columns[i].width = 14 + min(names, l.widest(w.names(b.columns[i].nodes), b.size))
		b.width += b.columns[i].width
	}
	if count > 1 {
		gap = max(30, min(130, (1300-b.width)/float64(count-1)))
	}
	b.width = 0
	for i := range b.columns {
		b.columns[i].left = b.width
		b.width += b.columns[i].width + gap
		b.put(i)
	}
	b.width -= gap
	return b
}

// put gives the nodes of column c their places, the column centred.
func (b board) put(c int) {
	col := b.columns[c]
	top := (b.height - b.pitch*float64(len(col.nodes))) / 2
	for i, node := range col.nodes {
		b.place[node] = spot{c, col.left, col.left + col.width, top + (float64(i)+0.5)*b.pitch}
	}
}

func (w Wiring) names(nodes []int) []string {
	names := make([]string, len(nodes))
	for i, node := range nodes {
		names[i] = name(w.Nodes[node].Name)
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

func (w Wiring) layout(l lettering) picture {
	b := w.board(l)
	edges, largest := w.strongest()
	notes := l.wrap(w.note(len(edges), largest), noteSize, max(b.width, 260), false, 3)
	const lineHeight = 14.0
	side := 0.0 // room for edges that bow out of the outermost columns
	for _, e := range edges {
		if b.place[e.From].column >= b.place[e.To].column {
			side = 45
		}
	}
	above := b.above(edges)
	bottom := above + b.height + 12
	return picture{b.width + 2*side, bottom + lineHeight*float64(len(notes)), func(p pen) {
		body := p.moved(side, above)
		for _, e := range edges {
			b.paintEdge(body, e, math.Abs(e.Weight)/largest)
		}
		for c, col := range b.columns {
			b.paintNodes(body, c, w.names(col.nodes))
		}
		for i, line := range notes {
			p.text(0, bottom+(float64(i)+0.5)*lineHeight, line, lead{size: noteSize, color: grey})
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

// bow is how far an edge's middle is lifted above the columns between its nodes.
func (b board) bow(from, to spot) float64 {
	return min(70, b.pitch*0.8*float64(max(0, to.column-from.column-1)))
}

// above is the room that edges which are lifted above the topmost nodes want: a cubic curve rises
// to 3/4 of the way to its handles.
func (b board) above(edges []WiringEdge) float64 {
	room := 0.0
	for _, e := range edges {
		from, to := b.place[e.From], b.place[e.To]
		room = max(room, 0.75*b.bow(from, to)-min(from.y, to.y)+2)
	}
	return room
}

// paintEdge draws an edge of a relative strength: from the right of a node to the left of another,
// or, to a node of the same or an earlier column, around on the right with an arrowhead.
func (b board) paintEdge(p pen, e WiringEdge, strength float64) {
	c := Signed(e.Weight)
	c.A = uint8(math.Round(255 * (0.12 + 0.78*strength)))
	width := 0.6 + 3.2*strength
	from, to := b.place[e.From], b.place[e.To]
	if from.column < to.column {
		reach := 0.45 * (to.left - from.right)
		bow := b.bow(from, to)
		p.curve([2]float64{from.right, from.y}, [2]float64{from.right + reach, from.y - bow},
			[2]float64{to.left - reach, to.y - bow}, [2]float64{to.left, to.y}, c, width)
		return
	}
	out := max(from.right, to.right) + 40
	p.curve([2]float64{from.right, from.y}, [2]float64{out, from.y}, [2]float64{out, to.y}, [2]float64{to.right + 4, to.y}, c, width)
	p.arrowhead(to.right, to.y, 3+width, c)
}

// arrowhead draws a triangle that points to the left.
func (p pen) arrowhead(x, y, size float64, c color.Color) {
	p.canvas.SetColor(c)
	path := p.rectangle(x, y, 0, 0)[:1]
	path.Line(p.point(x+1.4*size, y-0.7*size))
	path.Line(p.point(x+1.4*size, y+0.7*size))
	path.Close()
	p.canvas.Fill(path)
}

// paintNodes draws a column's boxes and names; crowded, every few names.
func (b board) paintNodes(p pen, c int, names []string) {
	col := b.columns[c]
	box := min(nodeHeight, 0.9*b.pitch)
	shown := every(b.pitch, b.size+1)
	paper := color.NRGBA{R: 0xf6, G: 0xf6, B: 0xf6, A: 0xff}
	for i, node := range col.nodes {
		at := b.place[node]
		p.fill(at.left, at.y-box/2, col.width, box, paper)
		if box > 4 {
			p.frame(at.left, at.y-box/2, col.width, box, outline)
		}
		if i%shown == 0 {
			name := p.cut(names[i], b.size, col.width-10, false)
			p.text(at.left+col.width/2, at.y, name, lead{size: b.size, align: 0.5})
		}
	}
}
