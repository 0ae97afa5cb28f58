package graph

import (
	"slices"
	"sort"
	"unsafe"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/internal/memory"
)

// arenaAlignment is the alignment of every buffer in bytes: the size of a cache line, and of the
// widest vector register.
const arenaAlignment = 64

// interval is a stretch of memory and the time during which it is in use: by one node's output, or
// by the outputs of several nodes, each of which overwrites the one before in place.
type interval struct {
	start, end int // positions in the run order, both included
	bytes      int
	offset     int
	nodes      gorgonia.Nodes
}

// plan decides where each op's output lies. Two outputs may share memory if they are never in use
// at the same time.
type plan struct {
	packs      bool
	order      gorgonia.Nodes
	position   map[*gorgonia.Node]int
	readers    map[*gorgonia.Node]gorgonia.Nodes
	leaders    map[*gorgonia.Node]*gorgonia.Node // by follower: the node whose run may compute it, too
	pinned     map[*gorgonia.Node]bool
	last       map[*gorgonia.Node]int // cached results of lastUse
	intervalOf map[*gorgonia.Node]*interval
	intervals  []*interval
	bytes      int // size of the arena
	unshared   int // the size that the same buffers would take without sharing
}

// newPlan plans the buffers of every node of g. Pinned nodes keep their buffers to the end of the
// run; packs says whether outputs may take 16 bits, fuses whether ops may be computed together.
func newPlan(g *gorgonia.ExprGraph, pinned gorgonia.Nodes, packs, fuses bool) (*plan, error) {
	sorted, err := gorgonia.Sort(g)
	if err != nil {
		return nil, errors.Wrap(err, "graph: plan")
	}
	p := &plan{packs: packs, position: map[*gorgonia.Node]int{}, readers: map[*gorgonia.Node]gorgonia.Nodes{},
		leaders: map[*gorgonia.Node]*gorgonia.Node{}, pinned: map[*gorgonia.Node]bool{}, last: map[*gorgonia.Node]int{}, intervalOf: map[*gorgonia.Node]*interval{}}
	for i := len(sorted) - 1; i >= 0; i-- { // the tape machine runs the sort backwards
		p.position[sorted[i]] = len(p.order)
		p.order = append(p.order, sorted[i])
	}
	for _, n := range pinned {
		p.pinned[n] = true
	}
	for _, n := range p.order {
		for _, c := range Inputs(n) {
			p.readers[c] = append(p.readers[c], n)
		}
	}
	if fuses {
		p.fuse()
	}
	p.layOut()
	p.place()
	return p, nil
}

// planned tells whether a node's output belongs in the arena.
func planned(n *gorgonia.Node) bool {
	op := opOf(n)
	if op == nil || op.gradientOf != nil || op.out.Scalar() {
		return false
	}
	_, resident := op.Primitive.(parameter)
	return !resident
}

// layOut makes the intervals, in run order.
func (p *plan) layOut() {
	for _, n := range p.order {
		if !planned(n) {
			continue
		}
		p.pack(n)
		op := opOf(n)
		p.unshared += aligned(op.storageBytes())
		if host := p.overwritable(n); host != nil {
			host.nodes = append(host.nodes, n)
			host.end = max(host.end, p.lastUse(n))
			p.intervalOf[n] = host
			continue
		}
		v := &interval{start: p.position[p.maker(n)], end: p.lastUse(n), bytes: aligned(op.storageBytes()), nodes: gorgonia.Nodes{n}}
		p.intervalOf[n] = v
		p.intervals = append(p.intervals, v)
	}
}

func aligned(bytes int) int { return (bytes + arenaAlignment - 1) / arenaAlignment * arenaAlignment }

// primaryOf returns the primary of n, if n is a secondary: the node whose run writes n's buffer.
func primaryOf(n *gorgonia.Node) *gorgonia.Node {
	inputs := Inputs(n)
	return inputs[slices.IndexFunc(inputs, func(c *gorgonia.Node) bool { return opOf(c) == opOf(n).primary })]
}

// maker returns the first node whose run may write n's buffer: n, its primary, or the node that
// computes either in its own run.
func (p *plan) maker(n *gorgonia.Node) *gorgonia.Node {
	if opOf(n).primary != nil {
		n = primaryOf(n)
	}
	if leader := p.leaders[n]; leader != nil {
		return leader
	}
	return n
}

// lastUse returns the position of the last node that needs n's buffer. A stock reader may return a
// view of our buffer or write its own result into it, so the buffer also stays in use as long as
// the stock node's value.
func (p *plan) lastUse(n *gorgonia.Node) int {
	if p.pinned[n] {
		return len(p.order)
	}
	if last, known := p.last[n]; known {
		return last
	}
	last := p.position[n]
	for _, r := range p.readers[n] {
		last = max(last, p.position[r])
		if opOf(r) == nil {
			last = max(last, p.lastUse(r))
		}
	}
	p.last[n] = last
	return last
}

// overwritable returns the interval of an input that n may overwrite, nil if there is none. A
// secondary may overwrite an input of its primary. If the op before n may compute n in its own run,
// then n must not overwrite an input of that op, and n's secondaries overwrite nothing.
func (p *plan) overwritable(n *gorgonia.Node) *interval {
	may, run := inPlace(opOf(n)), n
	if opOf(n).primary != nil {
		run = primaryOf(n)
	}
	if may == nil || run != n && p.leaders[run] != nil {
		return nil
	}
	inputs := Inputs(run)
	for i, c := range inputs {
		v := p.intervalOf[c]
		if v == nil || !may(i) || opOf(c).storageBytes() != opOf(n).storageBytes() || v.end != p.position[run] {
			continue
		}
		if leader := p.leaders[n]; leader != nil && slices.Contains(Inputs(leader), c) {
			continue
		}
		if timesRead(c, inputs) == 1 {
			return v
		}
	}
	return nil
}

// inPlace returns a function that tells whether op may overwrite input i: an input of its own or,
// for a secondary, of its primary. It returns nil if op may overwrite none.
func inPlace(op *Op) func(i int) bool {
	if op.primary != nil {
		k, ok := op.primary.Primitive.(SecondaryInPlacer)
		if !ok {
			return nil
		}
		n := slices.Index(op.primary.secondaries, op)
		return func(i int) bool { return k.SecondaryInPlace(n, i) }
	}
	if k, ok := op.Primitive.(InPlacer); ok {
		return k.InPlace
	}
	return nil
}

func timesRead(c *gorgonia.Node, inputs gorgonia.Nodes) int {
	n := 0
	for _, other := range inputs {
		if other == c {
			n++
		}
	}
	return n
}

// place gives every interval its offset: the largest interval first, each at the lowest offset that
// is free during its whole life.
func (p *plan) place() {
	bySize := append([]*interval(nil), p.intervals...)
	sort.SliceStable(bySize, func(i, j int) bool { return bySize[i].bytes > bySize[j].bytes })
	var placed shelves
	for _, v := range bySize {
		v.offset = placed.lowest(v)
		p.bytes = max(p.bytes, v.offset+v.bytes)
		placed = placed.put(v)
	}
}

// bindDevice allocates the arena on the device and places every planned op's output.
func (p *plan) bindDevice(r *runState) error {
	if p.bytes == 0 {
		return nil
	}
	arena, err := r.alloc(cuda.F32, (p.bytes+3)/4)
	if err != nil {
		return errors.Wrap(err, "activations")
	}
	for _, v := range p.intervals {
		for _, n := range v.nodes {
			op := opOf(n)
			op.device = cuda.Array{Ptr: arena.Ptr + uint64(v.offset), Type: op.storage(), N: op.out.Size()}
		}
	}
	return nil
}

// bind allocates the arena and places every planned op's buffer in it.
func (p *plan) bind() {
	beyond := 0 // a packed output's tensor extends beyond its memory, by the same size again
	for n := range p.intervalOf {
		if op := opOf(n); op.packed {
			beyond = max(beyond, op.storageBytes())
		}
	}
	arena := make([]byte, p.bytes+arenaAlignment+beyond)
	base := unsafe.Pointer(unsafe.SliceData(arena))
	memory.LargePages(base, p.bytes)
	skip := (arenaAlignment - int(uintptr(base)%arenaAlignment)) % arenaAlignment
	for _, v := range p.intervals {
		for _, n := range v.nodes {
			op, at := opOf(n), unsafe.Add(base, skip+v.offset)
			if op.packed {
				op.bindHalf(at)
			} else {
				op.buffer.bindTo(denseAt(at, op.out))
			}
		}
	}
}
