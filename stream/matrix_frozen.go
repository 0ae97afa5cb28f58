package stream

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream/linear"
)

// Writers lists the tables and the heads; a head's output is stored without a weight.
func (m *matrix) Writers() []Writer {
	writers := tableWriters(m.positions != nil, m.c.InputScale)
	for l := range m.c.Layers {
		name := m.Sites(l)[0].Name()
		writers = append(writers, Writer{Name: name, Part: HeadPart, Activation: name + ".heads", Source: name})
	}
	return writers
}

// Output names the matrix after the last sublayer.
func (m *matrix) Output() string { return m.c.lastSite().Name() + ".stream" }

// carryOn carries the outer products of each site unchanged to the end. Without a run sites read
// and write by the keys that do not depend on the stream, as in a plain RMT.
func (m *matrix) carryOn(f *Frozen) {
	one := linear.Identity(m.c.Dk * m.c.Dv)
	f.Write(tokenRows, m.keys(m.writeEmbedding))
	if m.positions != nil {
		f.Write(positionRows, m.keys(m.writePos))
	}
	for _, at := range m.c.AllSites() {
		for _, reader := range m.c.readers(at) {
			site := m.sites[reader.Index]
			f.Read(reader.Name(), one, m.after(site.norm, site.read.frozen(f, m)))
		}
		f.Write(at.Name(), m.sites[at.Index].write.frozen(f, m))
		if c := m.c.Blocks.ResidualScale; c != 0 {
			f.Precompose(at.Name(), linear.Rows(m.c.Rank*m.c.Dv, []float64{c}))
		}
	}
	f.ReadOut(one, m.after(m.norm, m.keys(m.readUnembedding)))
}

// after returns a norm and the keys that read after it.
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

// keys returns the map by which key vectors [R, Dk] store R rows of Dv entries.
func (m *matrix) keys(node *gorgonia.Node) linear.Mix {
	return linear.Keys(values(m.b, node.Name()), m.c.Dk, m.c.Dv)
}
