package memory

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// KeyMemory treats a trained matrix stream as an associative memory (see Associative) and
// measures its writing and its reading keys, site by site and all together. All sites of a
// Residual Matrix Transformer store in one matrix of Dk rows. A read by r_j of what was written
// as w_i ⊗ y gives (r_j . w_i) y, so the keys' cosines say how much each reader gets of each
// write. The gain of the norm is folded into the reading keys as r * mean_v g[:, v].
type KeyMemory struct {
	Dk        int                  `json:"dk"`
	Sets      []KeySet             `json:"sets"`      // in the order of the run
	Writes    KeySet               `json:"writes"`    // all writing keys
	Reads     KeySet               `json:"reads"`     // all reading keys
	Crosstalk []Crosstalk          `json:"crosstalk"` // of each site that writes with each later one that reads
	Own       []Crosstalk          `json:"own"`       // of each site's writing keys with its own reading keys
	sites     []analysis.KeyedSite // of each set, with keys of length 1
}

// KeySet measures the keys with which one site, or all sites together, write or read.
type KeySet struct {
	Site  string `json:"site"` // "": all sites together
	Reads bool   `json:"reads"`
	Coherence
	// Error is the mean relative error of a memory that holds an independent value for each
	// of the keys and is read with the same keys, (N-1) MeanSquared. Random is the error for
	// keys drawn uniformly, (N-1)/Dk. Least is the smallest error that N keys can have.
	Error  float64 `json:"error"`
	Random float64 `json:"random"`
	Least  float64 `json:"least"`
	// RandomMax is the largest |cosine| among the same number of keys drawn uniformly, as a mean
	// over draws, and RandomMaxError its standard error.
	RandomMax      float64 `json:"random_max"`
	RandomMaxError float64 `json:"random_max_error"`
}

// Crosstalk says how much the reading keys of one site overlap with the writing keys of another.
type Crosstalk struct {
	Writer      string  `json:"writer"`
	Reader      string  `json:"reader"`
	MeanSquared float64 `json:"mean_squared_cosine"` // over all pairs of a reading and a writing key
	Ratio       float64 `json:"ratio"`               // MeanSquared * Dk: 1 on average for random keys
	Deviation   float64 `json:"deviation"`           // standard deviation of Ratio for random keys
}

// randomDraws is the number of draws of random keys that RandomMax averages over.
const randomDraws = 8

// MeasureKeys measures the keys of a model with a matrix stream. The seed draws the random keys to
// compare them with.
func MeasureKeys(ctx context.Context, store *graph.Store, spec models.Spec, seed uint64) (*KeyMemory, error) {
	sites, err := analysis.KeyedSites(store, spec)
	if err != nil {
		return nil, err
	}
	m := &KeyMemory{sites: sites}
	draw := rand.New(rand.NewPCG(seed, 2))
	for i, s := range sites {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		sites[i].Keys = numerics.UnitRows(s.Keys)
		m.Sets = append(m.Sets, newKeySet(draw, s.Site, s.Reads, sites[i].Keys))
		m.Dk = m.Sets[i].Dimensions
	}
	m.Writes = newKeySet(draw, "", false, m.together(false))
	m.Reads = newKeySet(draw, "", true, m.together(true))
	m.listen()
	return m, nil
}

// together returns the keys of all sites that write, or of all that read, [N, Dk].
func (m *KeyMemory) together(reads bool) *mat.Dense {
	var all *mat.Dense
	for _, s := range m.sites {
		if s.Reads == reads {
			all = numerics.Stacked(all, s.Keys)
		}
	}
	return all
}

func newKeySet(draw *rand.Rand, site string, reads bool, keys *mat.Dense) KeySet {
	n, d := keys.Dims()
	s := KeySet{Site: site, Reads: reads, Coherence: coherenceOf(keys), Random: float64(n-1) / float64(d), Least: max(0, float64(n)/float64(d)-1)}
	s.Error = float64(n-1) * s.MeanSquared
	var largest []float64
	for range randomDraws {
		largest = append(largest, coherenceOf(numerics.UnitVectors(draw, n, d)).Max)
	}
	random := numerics.NewEstimate(largest)
	s.RandomMax, s.RandomMaxError = random.Mean, random.StandardError
	return s
}

// listen fills in Crosstalk and Own: it compares the writing keys of each site with the reading
// keys of each later site, and with the site's own.
func (m *KeyMemory) listen() {
	for _, w := range m.sites {
		for _, r := range m.sites {
			switch {
			case w.Reads || !r.Reads:
			case r.At > w.At:
				m.Crosstalk = append(m.Crosstalk, m.crosstalk(w, r))
			case r.Site == w.Site:
				m.Own = append(m.Own, m.crosstalk(w, r))
			}
		}
	}
}

// crosstalk compares two sets of keys. For random keys a squared cosine has mean 1/Dk and
// variance 2(Dk-1) / (Dk^2 (Dk+2)), and the cosines of different pairs are uncorrelated.
func (m *KeyMemory) crosstalk(w, r analysis.KeyedSite) Crosstalk {
	cosines, d := numerics.Mul(r.Keys, w.Keys.T()), float64(m.Dk)
	rows, columns := cosines.Dims()
	pairs := float64(rows * columns)
	c := Crosstalk{Writer: w.Site, Reader: r.Site, Deviation: math.Sqrt(2 * (d - 1) / (d + 2) / pairs), MeanSquared: numerics.Dot(cosines, cosines) / pairs}
	c.Ratio = c.MeanSquared * d
	return c
}

// Table lists the coherence of each site's keys, and of all keys together.
func (m *KeyMemory) Table() figure.Table {
	t := figure.NewTable(fmt.Sprintf("the model's keys, as the keys of an associative memory, Dk = %d", m.Dk), "llrrrrrrr",
		"site", "way", "keys", "largest |cosine|", "of random keys", "Welch bound", "error read with the same keys", "of random keys", "least")
	t.Note = "largest |cosine|: of two of these keys; of random keys: of two of as many random ones; Welch bound: the least\n" +
		"that it can be. error: the mean squared error, relative to the value, if each key stores a value and all are\n" +
		"read again; of random keys: with as many random ones; least: the smallest error possible with this many keys."
	for _, s := range append(slices.Clone(m.Sets), m.Writes, m.Reads) {
		t.Row(s.name(), analysis.Way(s.Reads), s.Keys, s.Max, s.RandomMax, s.Welch, s.Error, s.Random, s.Least)
	}
	return t
}

func (s KeySet) name() string {
	if s.Site == "" {
		return "all"
	}
	return s.Site
}

// mappedKeys is the number of pairs of keys up to which a figure shows each.
const mappedKeys = 40000

// Figures shows the crosstalk between sites, in a small model also between all keys, and the error
// that each site's keys would have as the keys of a memory.
func (m *KeyMemory) Figures() []figure.Figure {
	figures := []figure.Figure{m.siteMap()}
	if m.Writes.Keys*m.Reads.Keys <= mappedKeys {
		figures = append(figures, m.keyMap())
	}
	return append(figures, m.errorLines())
}

// siteMap shows how far Ratio is from 1, writers by readers.
func (m *KeyMemory) siteMap() figure.Heatmap {
	h := figure.Heatmap{Title: "Crosstalk: mean squared cosine of keys x Dk, minus 1 (0: random keys)", XLabel: "read by", YLabel: "written by", Diverging: true}
	for _, c := range m.Crosstalk {
		h.Set(c.Writer, c.Reader, c.Ratio-1)
	}
	return h
}

// keyMap shows the cosine of each reading key with each writing key, whichever comes first.
func (m *KeyMemory) keyMap() figure.Heatmap {
	h := figure.Heatmap{Title: "Cosines of reading and writing keys", XLabel: "writing key", YLabel: "reading key", Diverging: true}
	cosines := numerics.Mul(m.together(true), m.together(false).T())
	for _, s := range m.sites {
		if !s.Reads {
			h.Columns = append(h.Columns, s.Names...)
			continue
		}
		for _, name := range s.Names {
			h.Add(name, cosines.RawRowView(len(h.Rows)))
		}
	}
	return h
}

// errorLines draws Error, Random and Least site by site.
func (m *KeyMemory) errorLines() figure.Lines {
	l := figure.NewLines("Error of a memory with each site's writing keys", "site that writes", "|read - v|² / |v|²", "the model's keys", "random keys", "least")
	l.Series[0].Points = true
	for _, s := range m.Sets {
		if !s.Reads {
			l.AddNamed(s.Site, s.Error, s.Random, s.Least)
		}
	}
	return l
}
