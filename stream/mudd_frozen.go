package stream

import "github.com/residua-go/residua/stream/linear"

// Output names the last sum.
func (m *mudd) Output() string { return connectionsName(m.c.Layers-1) + ".out" }

// Carry keeps the ways and all outputs so far, one below the other: q, k, v, r, X_0 .. X_l
// where block l reads, and at first only r and X_0. A site writes to r. At the end of a block
// r becomes an output, and new ways are computed from all outputs. Attention's reads have a
// name for each way. Without a run the weights are their static part, A = b.
func (m *mudd) Carry(f *Frozen) {
	d := m.c.D
	tables := copies(2, d)
	if m.config.PrePost {
		norm, _ := m.normOf(f, m.kept, "embedding.out")
		tables = linear.Stack{linear.Identity(d), norm}
	}
	m.CarrySites(f, tables, func(at Site) {
		p := muddPieces{block: at.Block, width: d}
		residual := p.row(p.residual())
		if at.Sublayer == Attention {
			m.carryAttention(f, at, p)
			f.Write(at.Name(), linear.Transposed{Of: residual})
			return
		}
		m.carryThrough(f, at, residual, linear.Transposed{Of: residual})
		f.Step(m.carryEnd(f, p))
	})
	m.CarryEnd(f, linear.Identity(d))
}

// muddPieces numbers the pieces of the state in a block: q, k, v and r, then the outputs X_0, X_1
// and so on. With normed, the last piece is the normed output of the block, as at the end of a
// block of the form prepost.
type muddPieces struct {
	block, width int
	normed       bool
}

// residual returns the index of r; q, k and v come before it, X_0 after it.
func (p muddPieces) residual() int { return attentionWays * int(indicator(p.block > 0)) }

func (p muddPieces) count() int { return p.residual() + p.block + 2 + int(indicator(p.normed)) }

// source returns the index of the output that a piece holds, or -1 if it holds none. The newest
// output is r or, if normed, the last piece.
func (p muddPieces) source(piece int) int {
	newest := p.residual()
	if p.normed {
		newest = p.count() - 1
	}
	switch {
	case piece == newest:
		return p.block + 1
	case piece > p.residual():
		return piece - p.residual() - 1
	}
	return -1
}

// rows returns out mixtures of the pieces.
func (p muddPieces) rows(out int, at func(token, i, piece int) float64) linear.Mix {
	return linear.Mix{In: p.count(), Out: out, Width: p.width, At: at}
}

// row returns one piece.
func (p muddPieces) row(piece int) linear.Mix { return linear.Row(p.count(), piece, p.width) }

// carryAttention adds what attention reads: one row, or in a block with ways of its own three, for
// q, k and v.
func (m *mudd) carryAttention(f *Frozen, site Site, p muddPieces) {
	if m.norms[site.Block] == nil {
		f.Read(site.Name(), p.row(0), m.After(site))
		return
	}
	for i, way := range ways[:attentionWays] {
		f.Read(site.Name()+"."+way, p.row(min(i, p.residual())), m.afterWay(site.Block, i))
	}
}

// afterWay returns the norm of a way and the columns of W_QKV that it is for.
func (m *mudd) afterWay(block, way int) After {
	return func(u []float64) (linear.Chain, []float64) {
		n, h := m.norms[block], m.attention[block]
		d, from, all := m.c.D, 0, h.qkv.Shape()[1]
		for _, width := range h.columns[:way] {
			from += width
		}
		w, packed := linear.Matrix{In: d, Out: h.columns[way]}, m.values(h.qkv)
		for i := range d {
			w.W = append(w.W, packed[i*all+from:][:w.Out]...)
		}
		norm := linear.Norm{Gain: m.values(n.Gain())[way*d:][:d], Centre: !n.Options().RMS, Groups: 1}
		return linear.Chain{norm.At(u, orEps(n.Options().Eps)), w}, nil
	}
}

// carryEnd returns the step at a block's end, from its pieces to the next block's, or to the last
// sum.
func (m *mudd) carryEnd(f *Frozen, p muddPieces) linear.Map {
	sums, sources, _ := m.config.sums(p.block)
	stride := sums * sources
	a := f.Recorded(connectionsName(p.block)+weightsHook, stride)
	if a == nil {
		a, stride = m.values(m.blocks[p.block].bias), 0
	}
	way := func(token, way, piece int) float64 {
		if s := p.source(piece); s >= 0 {
			return a[token*stride+way*sources+s]
		}
		return 0
	}
	kept := func(_, i, piece int) float64 { return indicator(p.source(piece) == i) }
	if !m.config.PrePost {
		if sums == 1 {
			return p.rows(1, way)
		}
		return linear.Stack{p.rows(sums, way), p.rows(sources, kept)}
	}
	k, own := m.blocks[p.block], p.residual()
	before := p.row(own)
	norm, _ := m.normOf(f, k.norm, twoSites(p.block)[1].Name()+".stream")
	normed := linear.Stack{linear.Identity(p.count() * p.width), linear.Chain{before, norm}}
	p.normed = true
	last, _ := m.normOf(f, k.post, connectionsName(p.block)+".mix")
	post := linear.Chain{p.rows(1, func(t, _, piece int) float64 { return way(t, sums-1, piece) }), last}
	residual := linear.Chain{linear.Stack{p.row(own), post}, linear.Rows(p.width, []float64{1, 1})}
	if sums == 1 {
		return linear.Chain{normed, residual}
	}
	attention := p.rows(attentionWays, func(t, i, piece int) float64 { return indicator(piece == own) + way(t, i, piece) })
	return linear.Chain{normed, linear.Stack{attention, residual, p.rows(sources, kept)}}
}
