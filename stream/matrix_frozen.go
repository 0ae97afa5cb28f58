package stream

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream/linear"
)

// Writers are the tables and the heads; a head's output is stored as it is.
func (m *matrix) Writers() []Writer {
	writers := tableWriters(m.positions != nil, m.c.InputScale)
	for l := range m.attention {
		name := m.Sites(l)[0].Name()
		writers = append(writers, Writer{Name: name, Part: "head", Activation: name + ".heads", Source: name})
	}
	return writers
}

// Output is the matrix after the last sublayer.
func (m *matrix) Output() string { return m.c.lastSite().Name() + ".stream" }

// FreezeHooks is nothing: what is written is carried as it is.
func (m *matrix) FreezeHooks() []string { return nil }

// Freeze is the identity from every site to the end, after the site's outer products.
func (m *matrix) Freeze(r Record) (*Frozen, error) { return m.freeze(r), nil }

// Static is Freeze: nothing depends on a run.
func (m *matrix) Static() *Frozen { return m.freeze(nil) }

func (m *matrix) freeze(r Record) *Frozen {
	f := NewFrozen(r, m.c.Dk*m.c.Dv)
	one := linear.Identity(f.size)
	f.Write(tokenRows, m.keys(m.writeEmbedding))
	if m.positions != nil {
		f.Write(positionRows, m.keys(m.writePos))
	}
	for l := range m.c.Layers {
		for _, site := range m.Sites(l) {
			at := m.keyed(site)
			f.vectorSite(site, one, m.keys(at.write), m.after(at.norm, at.read))
		}
	}
	f.ReadOut(one, m.after(m.norm, m.readUnembedding))
	return f
}

// after are a norm and the keys that read after it.
func (m *matrix) after(n *layers.Norm, keys *gorgonia.Node) After {
	return func(x []float64) (linear.Chain, []float64) {
		norm, bias := freezeNorm(m.b, n, x)
		read := linear.Transposed{Of: m.keys(keys)}
		if bias != nil {
			bias = read.Apply(0, bias) // [m, Dv]
		}
		return linear.Chain{norm, read}, bias
	}
}

// keys is the map by which key vectors [R, Dk] store R rows of Dv entries.
func (m *matrix) keys(node *gorgonia.Node) linear.Mix {
	return linear.Keys(values(m.b, node.Name()), m.c.Dk, m.c.Dv)
}
