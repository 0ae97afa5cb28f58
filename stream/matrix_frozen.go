package stream

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream/linear"
)

// Writers are the tables and the heads; a head's output is stored as it is.
func (m *matrix) Writers() []Writer {
	writers := tableWriters(m.positions != nil, m.c.InputScale)
	for l := range m.c.Layers {
		name := m.Sites(l)[0].Name()
		writers = append(writers, Writer{Name: name, Part: HeadPart, Activation: name + ".heads", Source: name})
	}
	return writers
}

// Output is the matrix after the last sublayer.
func (m *matrix) Output() string { return m.c.lastSite().Name() + ".stream" }

// FreezeHooks is nothing: what is written is carried as it is.
func (m *matrix) FreezeHooks() []string { return nil }

// Freeze is the identity from every site to the end, after the site's outer products.
func (m *matrix) Freeze(r Record) (*Frozen, error) { return m.freeze(r, m.keyedReads) }

// Static is Freeze: nothing depends on a run.
func (m *matrix) Static() *Frozen {
	f, _ := m.freeze(nil, m.keyedReads) // fails by a run's activations alone
	return f
}

// keyedReads are a site's norm and the maps by which it reads and writes, each from R rows into the stream.
type keyedReads struct {
	norm        *layers.Norm
	read, write linear.Mix
}

func (m *matrix) keyedReads(site Site) (keyedReads, error) {
	at := m.keyed(site)
	return keyedReads{at.norm, m.keys(at.read), m.keys(at.write)}, nil
}

func (m *matrix) freeze(r Record, of func(Site) (keyedReads, error)) (*Frozen, error) {
	f := NewFrozen(r, m.c.Dk*m.c.Dv)
	one := linear.Identity(f.size)
	f.Write(tokenRows, m.keys(m.writeEmbedding))
	if m.positions != nil {
		f.Write(positionRows, m.keys(m.writePos))
	}
	for l := range m.c.Layers {
		for _, site := range m.Sites(l) {
			at, err := of(site)
			if err != nil {
				return nil, err
			}
			f.vectorSite(site, one, at.write, m.after(at.norm, at.read))
		}
	}
	f.ReadOut(one, m.after(m.norm, m.keys(m.readUnembedding)))
	return f, nil
}

// after are a norm and the keys that read after it.
func (m *matrix) after(n *layers.Norm, keys linear.Mix) After {
	return func(x []float64) (linear.Chain, []float64) {
		norm, bias := freezeNorm(m.b, n, x)
		read := linear.Transposed{Of: keys}
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
