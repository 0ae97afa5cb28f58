package analysis

import (
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/stream"
	"github.com/residua-go/residua/stream/linear"
)

// end is where weights meet the stream: directions along which a site writes, or with which
// it reads, as rows [count, size]. Its parts (heads) have equal shares of the rows.
type end struct {
	site        string   // "embedding", "blocks.3.attention"
	source      string   // its name in the stream's linear form
	kind        string   // of what it is a part: stream.HeadPart, or ""
	reads       bool     // else it writes
	via         string   // "q", "k", "v" of what attention reads
	ways        bool     // queries, keys and values read in different ways
	parts       []string // names of the nodes, "blocks.3.attention.1"
	at          int      // in the order of the run: a write at i reaches a read at j > i
	mapped      bool     // the weights are multiplied by the first part of the stream's map, see ownMap
	count, size int
	values      int               // number of columns of the state that each direction applies to: Dv for keys, otherwise 1
	weights     func() *mat.Dense // the rows: a large model's are not all in memory at once
	gram        func() *mat.Dense // rows^T rows [size, size], where the rows would take more memory; else nil
	keyed       *keyed            // of a matrix stream: the end with values, while the rows hold only keys; otherwise nil
}

// The sites that are not sublayers.
const (
	embeddingSite   = "embedding"
	positionsSite   = "positions"
	unembeddingSite = stream.Unembedding
)

// listEnds lists everything that writes to the stream with weights, or reads it, in the order
// of the run: tables, sites, what else the design adds, the unembedding. Queries, keys and
// values of an attention are one end. It leaves out writers whose terms depend on more of a run
// than their activations (self-dependency units, which write a product of two readings).
func (f *Folded) listEnds() []end {
	writers := f.model.Writers()
	var all []end
	at, last, tables := 0, "", true
	for _, a := range f.frozen.Accesses() {
		site, via := siteOf(a.Name)
		tables = tables && !a.Reads
		if site != last && !tables {
			at++
		}
		last = site
		if via != "" && via != attentionReads[0] { // one end has all of them
			continue
		}
		e := end{site: site, source: a.Name, ways: via != "", reads: a.Reads, at: at, values: 1}
		switch i := slices.IndexFunc(writers, func(w stream.Writer) bool { return w.Source == a.Name }); {
		case a.Reads:
			if f.setReader(&e); e.weights != nil && isAttention(e.site) {
				f.addGains(&e)
			}
		case i >= 0:
			f.setWriter(&e, writers[i])
		}
		if e.weights != nil {
			e.parts = []string{e.site}
			all = append(all, e)
		}
	}
	return all
}

// attentionReads names queries, keys and values.
var attentionReads = []string{"q", "k", "v"}

// siteOf returns the site of a name in the stream's linear form, and which of attentionReads it is
// if each reads under its own name, or "" if they read together.
func siteOf(name string) (site, via string) {
	for _, via := range attentionReads {
		if site, is := strings.CutSuffix(name, "."+via); is && isAttention(site) {
			return site, via
		}
	}
	return name, ""
}

// sourceOf returns the name in the stream's linear form under which a site's queries, keys or
// values read.
func (f *Folded) sourceOf(site, via string) string {
	if f.end(site, true).ways {
		return site + "." + via
	}
	return site
}

// setWriter finds the directions along which a writer writes: the keys by which it stores, the rows
// of its weight, or the rows of its table as they are looked up, with muP's factor.
func (f *Folded) setWriter(e *end, w stream.Writer) {
	e.site, e.source, e.kind = w.Name, w.Source, w.Part
	up, _ := f.frozen.Up(w.Source) // a name of its own
	var own linear.Chain
	if _, isSite := f.sites[w.Name]; isSite {
		_, own = ownMap(up)
		e.mapped = own != nil
	}
	keys, stores := linear.KeysOf(up)
	weight := w.Weight
	if stores {
		e.count, e.size, e.values = keys.In, keys.Out, keys.Width
		e.weights = func() *mat.Dense { return keyRows(keys) }
		e.keyed = newKeyed(keys, nil)
	}
	switch {
	case w.Table:
		weight = w.Name
	case w.Whole: // experts, of which each one's rows are directions
		weight = f.parameter(w.Name, "w2")
	}
	p := f.store.Param(weight)
	if p == nil {
		return
	}
	width, _ := up.Sizes()
	count := p.Size() / width
	rows := func() *mat.Dense {
		if w.Table {
			return f.table(w)
		}
		return own.Rows(f.dense(weight, count))
	}
	if stores {
		e.keyed.weigh(count, rows)
		return
	}
	e.count, e.size, e.weights = count, width, rows
	if e.mapped {
		_, e.size = own.Sizes()
	}
}

// table returns a table's rows [V, E] as a lookup gives them.
func (f *Folded) table(w stream.Writer) *mat.Dense {
	rows := f.dense(w.Name, f.store.Param(w.Name).Shape[0])
	rows.Scale(w.Scale, rows)
	return rows
}

// gramBack returns M G M^T: if G = w w^T belongs to directions after M, this is the Gram matrix of
// the same directions before M.
func gramBack(m linear.Chain, g *mat.Dense) *mat.Dense {
	if len(m) == 0 {
		return g
	}
	return m.Back(numerics.Transposed(m.Back(g)))
}

// writers lists what writes, with attention as separate heads or as a whole.
func (f *Folded) writers(whole bool) []end {
	var ends []end
	for _, e := range f.ends {
		if !e.reads {
			ends = append(ends, f.inHeads(e, whole))
		}
	}
	return ends
}

// readers lists what reads: queries, keys and values of heads (or of all heads), feed-forwards,
// the unembedding.
func (f *Folded) readers(whole bool) []end {
	var ends []end
	for _, e := range f.ends {
		switch {
		case !e.reads:
		case isAttention(e.site):
			for i, via := range attentionReads {
				part := e
				part.source = f.sourceOf(e.site, via)
				part.via, part.count, part.kind = via, f.c.HeadCount()*e.count/f.packedHeads(), stream.HeadPart
				part.weights = func() *mat.Dense { return f.headPart(e.weights(), i) }
				if e.keyed != nil {
					part.keyed = e.keyed.taken(func(rows *mat.Dense) *mat.Dense { return f.headPart(rows, i) })
				}
				ends = append(ends, f.inHeads(part, whole))
			}
		default:
			ends = append(ends, e)
		}
	}
	return ends
}

// accesses lists the reads and writes of whole sites in one space, in the order of the run, a
// site's read before its write. The unembedding has everything after the last site folded in,
// including aggregates' norms. Tables and unembedding are left out if they are in another space
// than what sites read and write (wider, or mixed from slots). Writers that are not sites are left
// out, because they read more than the stream.
func (f *Folded) accesses() []end {
	var all []end
	ends := f.ends
	first := slices.IndexFunc(ends, func(e end) bool { return e.reads })
	var lastWriter end
	for _, e := range ends {
		_, isSite := f.sites[e.site]
		switch {
		case isSite:
			if !e.reads {
				lastWriter = e
			}
		case e.site == unembeddingSite:
			way := f.carry.between(lastWriter, e)
			if way.Mixture() {
				continue
			}
			if _, same := way.Number(); !same {
				rows, gram := e.weights, e.gram
				e.weights = func() *mat.Dense { return way.Back(rows()) }
				e.gram = func() *mat.Dense { return gramBack(way, gram()) }
			}
		case e.at == 0:
			if _, same := f.carry.between(e, ends[first]).Number(); !same {
				continue
			}
		default:
			continue
		}
		all = append(all, e)
	}
	return all
}

// part returns the rows of an end that belong to part i.
func (e end) part(rows *mat.Dense, i int) *mat.Dense {
	n := e.count / len(e.parts)
	return rows.Slice(i*n, (i+1)*n, 0, rows.RawMatrix().Cols).(*mat.Dense)
}

// name returns a part's name. If the end reads as "q", "k" or "v", the name ends with it.
func (e end) name(part int) string {
	if e.via == "" {
		return e.parts[part]
	}
	return e.parts[part] + "." + e.via
}

// alone returns an end that has only one part of e.
func (e end) alone(part int) end {
	if len(e.parts) == 1 {
		return e
	}
	all := e
	e.weights = func() *mat.Dense { return all.part(all.weights(), part) }
	if e.keyed != nil {
		e.keyed = e.keyed.taken(func(rows *mat.Dense) *mat.Dense { return all.part(rows, part) })
	}
	e.parts, e.count = e.parts[part:part+1], e.count/len(e.parts)
	return e
}

// entries returns how many numbers an end writes or reads for each token, values included.
func (e end) entries() int {
	switch {
	case e.keyed == nil:
		return e.count
	case e.keyed.weights == nil:
		return e.count * e.values
	}
	return e.keyed.rows
}

// wholeGram returns the Gram matrix [size, size] of all rows.
func (e end) wholeGram() *mat.Dense {
	if e.gram != nil {
		return e.gram()
	}
	return numerics.GramOfColumns(e.weights())
}

// find returns the end, or the part of one, that has the given name.
func find(what, name string, all ...[]end) (end, error) {
	var names []string
	for _, ends := range all {
		for _, e := range ends {
			for i := range e.parts {
				if e.name(i) == name {
					return e.alone(i), nil
				}
				names = append(names, e.name(i))
			}
		}
	}
	return end{}, check.Unknown(what, name, slices.Compact(names))
}
