package memory

import (
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/stream"
	"github.com/residua-go/residua/stream/linear"
)

// WriteRetrieval measures what the readers of a running matrix stream get from each writer. The
// stream of a token is the sum of the outer products that were written to it, X = sum_i w_i ⊗ y_i,
// so that a read by a key r is attention over the earlier writes of the token with weights that are
// not normalised (linear attention, Katharopoulos et al. 2020, arXiv 2006.16236; without the
// softmax of the update rule of modern Hopfield networks, Ramsauer et al. 2021, arXiv 2008.02217):
//
//	r X = sum_i (r . w_i) y_i
//
// With the norm in front of it at the scale of the run, the read is q = sum_i c_i, each c_i linear
// in w_i ⊗ y_i; the norm's bias, which comes from no writer, is left out.
type WriteRetrieval struct {
	Dk        int                `json:"dk"`
	Dv        int                `json:"dv"`
	Tokens    int                `json:"tokens"`
	Writers   []string           `json:"writers"` // in the order of the run
	Reads     []KeyedRead        `json:"reads"`
	Backs     []ReadBack         `json:"read_back"`
	Distances RetrievalDistances `json:"-"`
}

// KeyedRead is a reader: queries, keys or values of an attention, a feed-forward, the unembedding.
type KeyedRead struct {
	Reader string `json:"reader"`
	Keys   int    `json:"keys"`
	Writes int    `json:"writes"` // earlier ones, each by one key
	// Share, Energy and Chance have an entry for each earlier writer s, of which a key reads c_s.
	// Share is sum <c_s, q> / sum <q, q> over tokens and keys: the shares add up to 1, and may be
	// below 0. Energy is |c_s|^2 divided by the sum of |c|^2 for all writers, a mean over tokens
	// and keys. Chance is the same for keys drawn uniformly, without gains: |X_s|^2, with X_s what
	// s wrote, divided by the sum of |X|^2 for all writers, a mean over tokens.
	Share  []float64 `json:"share"`
	Energy []float64 `json:"energy"`
	Chance []float64 `json:"chance"`
	Model  Sharpness `json:"model"`
	Random Sharpness `json:"random"` // of the same number of keys drawn uniformly, on the same writes
}

// Sharpness says how far a reader's keys single out individual writes.
type Sharpness struct {
	// Effective is the number of writes that are read, (sum_i |c_i|^2)^2 / sum_i |c_i|^4, a mean
	// over tokens and keys: 1 if a key reads a single write.
	Effective float64 `json:"effective"`
	// Top is the strongest write's share of sum_i |c_i|^2, a mean over tokens and keys.
	Top float64 `json:"top"`
	// Signal is S / (S + C), with S = sum |c_top|^2 for the strongest write and C = sum |q -
	// c_top|^2, the crosstalk of all others. It is 1/2 if signal and crosstalk are equally strong.
	Signal float64 `json:"signal"`
}

// ReadBack says how well the keys with which a writer wrote, w_i X / |w_i|^2, read back what it
// wrote from the stream X at a later site.
type ReadBack struct {
	Writer   string  `json:"writer"`
	Reader   string  `json:"reader"`
	Distance int     `json:"distance"` // sites that wrote in between
	Error    float64 `json:"error"`    // sum |w_i X / |w_i|^2 - y_i|^2 / sum |y_i|^2
	Random   float64 `json:"random"`   // the mean of Error if the keys of the other writes were drawn uniformly
}

// RetrievalByDistance summarises all pairs of a site and a later reader with the same number of
// sites in between: means of Share and of Energy / Chance, and medians of the errors, which are
// large for a writer that writes much less than the others.
type RetrievalByDistance struct {
	Distance int     `json:"distance"`
	Pairs    int     `json:"pairs"`
	Share    float64 `json:"share"`
	Gain     float64 `json:"gain"` // mean Energy / mean Chance
	Error    float64 `json:"error"`
	Random   float64 `json:"random"`
}

// RetrieveWrites measures a run of a model with a matrix stream. The run must have kept
// analysis.DecompositionNames. The seed draws the random keys to compare with.
func RetrieveWrites(run *cache.Cache, seed uint64) (*WriteRetrieval, error) {
	if err := analysis.CheckKeyed(run.Model().Spec()); err != nil {
		return nil, err
	}
	d, err := analysis.Decompose(run)
	if err != nil {
		return nil, err
	}
	r := &retrieving{d: d, spec: run.Model().Spec(), draw: rand.New(rand.NewPCG(seed, 3)), result: &WriteRetrieval{Tokens: run.Tokens()}}
	r.setOut()
	for token := range run.Tokens() {
		r.token(token)
	}
	r.finish()
	return r.result, nil
}

// retrieving collects a WriteRetrieval.
type retrieving struct {
	d        *analysis.Decomposition
	spec     models.Spec
	draw     *rand.Rand
	result   *WriteRetrieval
	accesses []keyAccess
}

// keyAccess is one place where the stream is written or read by keys; setOut puts them into the
// order of the run.
type keyAccess struct {
	name    string
	sites   int // number of sites that have written so far, itself included
	keys    linear.Mix
	writer  int           // its number, of a writer
	source  stream.Writer // of a writer
	norm    linear.Norm   // in front of a reader's keys
	readers []*readSum    // a reader's parts; nil of a writer
	backs   []backSum     // of a reader, by writer
}

// setOut lists the writers and the readers, in the order of the run.
func (r *retrieving) setOut() {
	sites, frozen, writers := 0, r.d.Frozen(), r.d.Writers()
	for _, a := range frozen.Accesses() {
		k := keyAccess{name: a.Name, sites: sites, writer: len(r.result.Writers)}
		if a.Reads {
			chain, _ := frozen.After(a.Name) // one of the form's own names
			k.norm, k.keys = chain[0].(linear.Norm), chain[1].(linear.Transposed).Of.(linear.Mix)
			k.readers = r.newReaders(a.Name, k.keys.In)
			k.backs = make([]backSum, len(r.result.Writers))
		} else {
			up, _ := frozen.Up(a.Name)
			k.source = writers[slices.IndexFunc(writers, func(w stream.Writer) bool { return w.Source == a.Name })]
			if !k.source.Table {
				sites++
			}
			k.sites, k.keys = sites, up.(linear.Mix)
			r.result.Writers = append(r.result.Writers, k.source.Name)
			r.result.Dk, r.result.Dv = k.keys.Out, k.keys.Width
		}
		r.accesses = append(r.accesses, k)
	}
}

// newReaders returns the parts of a reader with m keys; an attention's are queries, keys and
// values.
func (r *retrieving) newReaders(site string, m int) []*readSum {
	heads, shared, writers := r.spec.HeadCount(), r.spec.KVHeads(), len(r.result.Writers)
	if !strings.HasSuffix(site, string(stream.Attention)) {
		return []*readSum{newReadSum(site, 0, m, writers)}
	}
	return []*readSum{newReadSum(site+".q", 0, heads, writers), newReadSum(site+".k", heads, shared, writers),
		newReadSum(site+".v", heads+shared, shared, writers)}
}

// token adds what one token's readers read.
func (r *retrieving) token(t int) {
	dk, dv := r.result.Dk, r.result.Dv
	w := &tokenWrites{dk: dk, dv: dv, x: mat.NewDense(dk, dv, nil)}
	for _, a := range r.accesses {
		if a.readers == nil {
			written, _ := r.d.Written(a.source, t) // the token exists
			w.add(a.writer, keysAt(a.keys, t), written)
			continue
		}
		norm := a.norm.At(w.x.RawMatrix().Data, r.spec.NormEps)
		for _, part := range a.readers {
			part.add(w, norm, keysAt(a.keys, t), r.draw)
		}
		w.readBack(a.backs)
	}
}

// keysAt returns the keys [m, Dk] of one token.
func keysAt(keys linear.Mix, token int) *mat.Dense {
	rows := mat.NewDense(keys.In, keys.Out, nil)
	rows.Apply(func(j, d int, _ float64) float64 { return keys.At(token, d, j) }, rows)
	return rows
}

// finish turns sums into means.
func (r *retrieving) finish() {
	var gaps []*gapSum
	for at, a := range r.accesses {
		for _, part := range a.readers {
			r.result.Reads = append(r.result.Reads, part.finish(r.result.Tokens))
		}
		if a.readers == nil {
			continue
		}
		for _, b := range r.accesses[:at] {
			if b.readers != nil {
				continue
			}
			sum := a.backs[b.writer]
			back := ReadBack{Writer: b.source.Name, Reader: a.name, Distance: a.sites - b.sites,
				Error: numerics.Ratio(sum.error, sum.size), Random: numerics.Ratio(sum.random, sum.size) / float64(r.result.Dk)}
			r.result.Backs = append(r.result.Backs, back)
			if b.source.Table {
				continue
			}
			for len(gaps) <= back.Distance {
				gaps = append(gaps, &gapSum{})
			}
			gaps[back.Distance].add(back, r.result.Reads[len(r.result.Reads)-len(a.readers):], b.writer)
		}
	}
	for i, g := range gaps {
		r.result.Distances.Distances = append(r.result.Distances.Distances, g.result(i))
	}
}
