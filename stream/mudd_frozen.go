package stream

import (
	"github.com/pkg/errors"

	"github.com/residua-go/residua/stream/linear"
)

// Output is the last sum.
func (m *mudd) Output() string { return connectionsName(m.c.Layers-1) + ".out" }

// FreezeHooks are the weights of all sums, and with prepost what norms take.
func (m *mudd) FreezeHooks() []string {
	var names []string
	if m.c.PrePost {
		names = append(names, "embedding.out")
	}
	for l := range m.c.Layers {
		names = append(names, connectionsName(l)+".weights")
		if m.c.PrePost {
			names = append(names, lastSite(l+1).Name()+".stream", connectionsName(l)+".mix")
		}
	}
	return names
}

// Static is of the weights' static part, A = b.
func (m *mudd) Static() *Frozen {
	f, _ := m.Freeze(nil) // wants no activations, and fails by them alone
	return f
}

// Freeze carries the ways and the outputs so far, one below the other: q, k, v, r, X_0 .. X_l
// where block l reads, r and X_0 alone at first. A site writes to r, a block's end makes new ways
// of the others and of r, which becomes an output. Attention reads under a name for each way.
func (m *mudd) Freeze(r Record) (*Frozen, error) {
	z := freezer{record: r}
	d := m.c.D
	var kept linear.Map = linear.Identity(d)
	if m.c.PrePost {
		kept = z.norm(m.embed, "embedding.out")
	}
	f := NewFrozen(r, d)
	f.writeTables(m.tables, linear.Stack{linear.Identity(d), kept})
	for l := range m.c.Layers {
		p := muddPieces{block: l, width: d}
		residual := p.row(p.residual())
		sites := m.Sites(l)
		m.freezeAttention(f, sites[0], p)
		f.Write(sites[0].Name(), linear.Transposed{Of: residual})
		f.vectorSite(sites[1], residual, linear.Transposed{Of: residual}, m.after(sites[1]))
		f.Step(m.freezeEnd(&z, p))
	}
	f.ReadOut(linear.Identity(d), thenNorm(m.b, m.norm))
	return f, z.err
}

// muddPieces are those of the state in a block, at its end with the normed output after them if it
// is kept in place of the output itself.
type muddPieces struct {
	block, width int
	normed       bool
}

// residual is the number of r; q, k and v come before it, X_0 after it.
func (p muddPieces) residual() int { return attentionWays * int(indicator(p.block > 0)) }

func (p muddPieces) count() int { return p.residual() + p.block + 2 + int(indicator(p.normed)) }

// source is the number of the output that a piece is, the newest of which is in r or after all others;
// -1: it is none.
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

// rows are mixtures of the pieces.
func (p muddPieces) rows(out int, at func(token, i, piece int) float64) linear.Mix {
	return linear.Mix{In: p.count(), Out: out, Width: p.width, At: at}
}

// row is one piece.
func (p muddPieces) row(piece int) linear.Mix { return linear.Row(p.count(), piece, p.width) }

// freezeAttention reads in one way, or in three.
func (m *mudd) freezeAttention(f *Frozen, site Site, p muddPieces) {
	if m.norms[site.Block] == nil {
		f.Read(site.Name(), p.row(0), m.after(site))
		return
	}
	for i, way := range ways[:attentionWays] {
		piece := min(i, p.residual())
		f.Read(site.Name()+"."+way, p.row(piece), m.afterWay(site.Block, i))
	}
}

// afterWay are the norm of a way and the columns of W_QKV that it is for.
func (m *mudd) afterWay(block, way int) After {
	return func(u []float64) (linear.Chain, []float64) {
		n, h := m.norms[block], m.attention[block]
		d, from, all := m.c.D, 0, h.qkv.Shape()[1]
		for _, width := range h.columns[:way] {
			from += width
		}
		w, packed := linear.Matrix{In: d, Out: h.columns[way]}, values(m.b, h.qkv.Name())
		for i := range d {
			w.W = append(w.W, packed[i*all+from:][:w.Out]...)
		}
		norm := linear.Norm{Gain: values(m.b, n.Gain().Name())[way*d:][:d], Centre: !n.Options().RMS, Groups: 1}
		return linear.Chain{norm.At(u, orEps(n.Options().Eps)), w}, nil
	}
}

// freezeEnd is the step at a block's end, from its pieces to the next block's, or to the last sum.
func (m *mudd) freezeEnd(z *freezer, p muddPieces) linear.Map {
	sums, sources, _ := m.c.sums(p.block)
	a := z.weights(m, p.block)
	way := func(token, way, piece int) float64 {
		if s := p.source(piece); s >= 0 {
			return a(token, way*sources+s)
		}
		return 0
	}
	kept := func(_, i, piece int) float64 { return indicator(p.source(piece) == i) }
	if !m.c.PrePost {
		if sums == 1 {
			return p.rows(1, way)
		}
		return linear.Stack{p.rows(sums, way), p.rows(sources, kept)}
	}
	k, own := m.blocks[p.block], p.residual()
	before := p.row(own)
	normed := linear.Stack{linear.Identity(p.count() * p.width), linear.Chain{before, z.norm(k.norm, lastSite(p.block+1).Name()+".stream")}}
	p.normed = true
	post := linear.Chain{p.rows(1, func(t, _, piece int) float64 { return way(t, sums-1, piece) }), z.norm(k.post, connectionsName(p.block)+".mix")}
	residual := linear.Chain{linear.Stack{p.row(own), post}, linear.Rows(p.width, []float64{1, 1})}
	if sums == 1 {
		return linear.Chain{normed, residual}
	}
	attention := p.rows(attentionWays, func(t, i, piece int) float64 { return indicator(piece == own) + way(t, i, piece) })
	return linear.Chain{normed, linear.Stack{attention, residual, p.rows(sources, kept)}}
}

// freezer reads what a run recorded; without a run all is as it is in the parameters.
type freezer struct {
	record Record
	err    error
}

// activation is a hook's value; nil without a run, or after an error.
func (z *freezer) activation(name string) []float64 {
	if z.record == nil || z.err != nil {
		return nil
	}
	var x []float64
	x, z.err = z.record.Activation(name)
	return x
}

// norm is a norm at the scales that it has for a hook's value.
func (z *freezer) norm(n *rms, of string) linear.Norm {
	return linear.Norm{Gain: values(n.b, n.gain.Name()), Groups: 1}.At(z.activation(of), orEps(n.eps))
}

// weights are those of a block's sums, by token and number; without a run b.
func (z *freezer) weights(m *mudd, block int) func(token, i int) float64 {
	name, size := connectionsName(block)+".weights", m.blocks[block].bias.Shape().TotalSize()
	a := z.activation(name)
	switch {
	case z.record == nil:
		a = values(m.b, m.blocks[block].bias.Name())
		return func(_, i int) float64 { return a[i] }
	case z.err == nil && len(a) != z.record.Tokens()*size:
		z.err = errors.Errorf("stream: %s: want %d entries for each of %d tokens, got %d", name, size, z.record.Tokens(), len(a))
	}
	return func(token, i int) float64 { return a[token*size+i] }
}
