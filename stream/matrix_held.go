package stream

import "gorgonia.org/gorgonia"

// Writers are the tables and the heads; a head's output is stored as it is.
func (m *Matrix) Writers() []Writer {
	writers := tableWriters(m.positions != nil)
	for l := range m.attention {
		name := m.Sites(l)[0].Name()
		writers = append(writers, Writer{Name: name, Part: "head", Activation: name + ".heads", Source: name})
	}
	return writers
}

// End is the matrix behind the last feed-forward.
func (m *Matrix) End() string { return lastSite(m.c.Layers).Name() + ".stream" }

// Holds is nothing: what is written is carried as it is.
func (m *Matrix) Holds() []string { return nil }

// Hold is the identity from every site to the end, behind the site's outer products.
func (m *Matrix) Hold(r Record) (*Held, error) {
	h := &Held{tokens: r.Tokens(), size: m.c.Dk * m.c.Dv}
	h.enter(tokenRows, m.keys(m.writeEmbedding))
	if m.positions != nil {
		h.enter(positionRows, m.keys(m.writePos))
	}
	for l := range m.c.Layers {
		sites := m.Sites(l)
		h.vectorSite(sites[0], identityMap{h.size}, m.keys(m.attention[l].write))
		h.vectorSite(sites[1], identityMap{h.size}, m.keys(m.features[l].write))
	}
	h.readout = func(end []float64) *Readout {
		norm, bias := holdLayerNorm(m.b, m.norm, end)
		read := transposed{m.keys(m.readUnembedding)}
		if bias != nil {
			bias = read.apply(0, bias) // [R, Dv]
		}
		return &Readout{maps: []linearMap{norm, read}, constant: bias}
	}
	return h, nil
}

// keys is the map by which key vectors [R, Dk] store R rows of Dv entries.
func (m *Matrix) keys(node *gorgonia.Node) keysMap {
	return keysMap{keys: values(m.b, node.Name()), r: m.c.Rank, dk: m.c.Dk, v: m.c.Dv}
}
