package stream

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/stream/linear"
)

// FreezeHooks are the keys of all sites.
func (d *dynamicMatrix) FreezeHooks() []string {
	var names []string
	for l := range d.attentionKeys {
		for _, site := range d.Sites(l) {
			s := d.site(site)
			names = append(names, s.read.name+".keys", s.write.name+".keys")
		}
	}
	return names
}

// Freeze is that of a matrix stream, with each token's own keys.
func (d *dynamicMatrix) Freeze(r Record) (*Frozen, error) {
	return d.freeze(r, func(site Site) (keyedReads, error) {
		s := d.site(site)
		read, err := s.read.frozen(r, d.c)
		if err != nil {
			return keyedReads{}, err
		}
		write, err := s.write.frozen(r, d.c)
		return keyedReads{s.norm, read, write}, err
	})
}

// Static has the keys that do not depend on the stream, by which a plain RMT reads and writes.
func (d *dynamicMatrix) Static() *Frozen {
	f, _ := d.freeze(nil, func(site Site) (keyedReads, error) {
		s := d.site(site)
		return keyedReads{s.norm, s.read.vectors(d.c), s.write.vectors(d.c)}, nil
	})
	return f
}

// vectors is the map of the static keys.
func (k dynamicKeys) vectors(c MatrixConfig) linear.Mix {
	columns := values(k.b, k.static.Name()) // [Dk, m]
	m := len(columns) / c.Dk
	return linear.Keys(table(m, c.Dk, func(i, j int) float64 { return columns[j*m+i] }), c.Dk, c.Dv)
}

// frozen is the map of each token's keys.
func (k dynamicKeys) frozen(r Record, c MatrixConfig) (linear.Mix, error) {
	keys, err := r.Activation(k.name + ".keys") // [T, Dk, m]
	if err != nil {
		return linear.Mix{}, err
	}
	m := columnsOf(k.static)
	if len(keys) != r.Tokens()*c.Dk*m {
		return linear.Mix{}, errors.Errorf("stream: %s.keys: want %d entries for each of %d tokens, got %d", k.name, c.Dk*m, r.Tokens(), len(keys))
	}
	return linear.Mix{In: m, Out: c.Dk, Width: c.Dv, At: func(t, i, j int) float64 { return keys[(t*c.Dk+i)*m+j] }}, nil
}

func columnsOf(w *gorgonia.Node) int { return w.Shape()[1] }
