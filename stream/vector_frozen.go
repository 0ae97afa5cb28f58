package stream

import "github.com/residua-go/residua/stream/linear"

// Writers are the tables and the heads.
func (v *Vector) Writers() []Writer {
	writers := v.writers()
	for l := range v.attention {
		writers = append(writers, v.attention[l].writer(v.Sites(l)[0]))
	}
	return writers
}

// Output is the stream after the last sublayer.
func (v *Vector) Output() string { return v.c.lastSite().Name() + ".stream" }

// lastSite is the last sublayer of a model with two a block.
func lastSite(layers int) Site { return twoSites(layers - 1)[1] }

// FreezeHooks is nothing: what is written is carried as it is.
func (v *Vector) FreezeHooks() []string { return nil }

// Static is Freeze: nothing depends on a run.
func (v *Vector) Static() *Frozen { return v.freeze(nil, func(*Frozen, Site) {}) }

// Freeze is the identity from every site to the end.
func (v *Vector) Freeze(r Record) (*Frozen, error) {
	return v.freeze(r, func(*Frozen, Site) {}), nil
}

// freeze is Freeze for a stream to which something else, too, writes after each site.
func (v *Vector) freeze(r Record, write func(f *Frozen, site Site)) *Frozen {
	if v.x0 != nil {
		return v.freezeX0(r)
	}
	one := linear.Identity(v.c.D)
	f := NewFrozen(r, v.c.D)
	f.writeTables(v.tables, one)
	for l := range v.c.Layers {
		for _, site := range v.Sites(l) {
			f.vectorSite(site, one, v.scaled(site, one), v.after(site))
			write(f, site)
		}
	}
	f.ReadOut(one, thenNorm(v.b, v.norm))
	return f
}

// after are the maps after a site's read: its norm and, to heads, W_QKV.
func (v *Vector) after(site Site) After {
	if site.Sublayer == Attention {
		return v.attention[site.Block].after
	}
	return thenNorm(v.b, v.features[site.Block])
}

// after are the norm, if there is one, and W_QKV, whose biases are no matter of what is read.
func (h heads) after(u []float64) (linear.Chain, []float64) {
	qkv := linear.Matrix{W: values(h.b, h.qkv.Name()), In: h.qkv.Shape()[0], Out: h.qkv.Shape()[1]}
	if h.norm == nil {
		return linear.Chain{qkv}, nil
	}
	norm, _ := freezeNorm(h.b, h.norm, u)
	return linear.Chain{norm, qkv}, nil
}

// vectorSite is a site that is read and written and no step.
func (f *Frozen) vectorSite(site Site, down, up linear.Map, after After) {
	f.Read(site.Name(), down, after)
	f.Write(site.Name(), up)
}

// enterTables enters what is looked up.
func (f *Frozen) writeTables(t tables, up linear.Map) {
	f.Write(tokenRows, up)
	if t.positions != nil {
		f.Write(positionRows, up)
	}
}

// writers are the tables'.
func (t tables) writers() []Writer {
	return tableWriters(t.positions != nil, t.scale)
}

// tableWriters are the embedding, whose rows are multiplied by a scale, and, if there are any,
// the positions.
func tableWriters(positions bool, scale float64) []Writer {
	writers := []Writer{{Name: "embedding", Parts: 1, Activation: tokenRows, Table: true, Scale: scale, Source: tokenRows}}
	if positions {
		writers = append(writers, Writer{Name: "positions", Parts: 1, Activation: positionRows, Table: true, Scale: 1, Source: positionRows})
	}
	return writers
}

// writer is attention's: each head's output times its rows of W_O. How many heads there are
// the model knows.
func (h heads) writer(site Site) Writer {
	w := Writer{Name: site.Name(), Part: HeadPart, Activation: site.Name() + ".heads", Weight: h.output.Name(), Source: site.Name()}
	if h.outputsBias != nil {
		w.Bias = h.outputsBias.Name()
	}
	return w
}
