package analysis

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// packedHeads returns the number of heads among what attention reads: the heads of queries, keys
// and values together.
func (f *Folded) packedHeads() int { return f.c.HeadCount() + 2*f.c.KVHeads() }

// headPlace returns the index, among the packedHeads, of what a head reads: part 0 is its query, 1
// its key, 2 its value. If heads share keys and values, head h reads number h/(heads/kv_heads).
func headPlace(spec models.Spec, part, head int) int {
	if part == 0 {
		return head
	}
	return spec.HeadCount() + (part-1)*spec.KVHeads() + head/(spec.HeadCount()/spec.KVHeads())
}

// headPart returns the rows for the queries (0), keys (1) or values (2) of all heads; rows that
// heads share are repeated for each.
func (f *Folded) headPart(read *mat.Dense, part int) *mat.Dense {
	var all *mat.Dense
	for h := range f.c.HeadCount() {
		all = numerics.Stacked(all, f.headRows(read, part, h))
	}
	return all
}

// headRows returns the rows of one head.
func (f *Folded) headRows(read *mat.Dense, part, head int) *mat.Dense {
	rows, size := read.Dims()
	each := rows / f.packedHeads()
	at := headPlace(f.c, part, head) * each
	return read.Slice(at, at+each, 0, size).(*mat.Dense)
}

// inHeads splits an end of attention into heads, unless it is to stay whole.
func (f *Folded) inHeads(e end, whole bool) end {
	if e.kind == stream.HeadPart && !whole {
		e.parts = f.headNames(e.site)
	}
	return e
}

// keyNames returns the names of an end's keys: "blocks.0.attention.1.q" for what attention reads,
// "blocks.0.attention.1" for what its heads write, "blocks.0.feedforward key 3". Keys that heads
// share are named for the first of these heads.
func (f *Folded) keyNames(e end) []string {
	var names []string
	for i := range e.count {
		if !isAttention(e.site) {
			names = append(names, fmt.Sprintf("%s key %d", e.site, i))
			continue
		}
		head, via := i, 0
		if heads, shared := f.c.HeadCount(), f.c.KVHeads(); i >= heads {
			head, via = (i-heads)%shared*(heads/shared), 1+(i-heads)/shared
		}
		name := headName(f.sites[e.site].Block, head)
		if e.reads {
			name += "." + attentionReads[via]
		}
		names = append(names, name)
	}
	return names
}

// KeyedSite is where a site of a matrix stream writes, or reads.
type KeyedSite struct {
	Site  string
	Reads bool       // else it writes
	At    int        // in the order of the run: a write at i reaches a read at j > i
	Keys  *mat.Dense // [m, Dk], those that read with the norm's gain, as in Folded
	Names []string   // of the keys
}

// KeyedSites lists where a model with a matrix stream writes and reads, in the order of the run.
func KeyedSites(store *graph.Store, spec models.Spec) ([]KeyedSite, error) {
	if err := CheckKeyed(spec); err != nil {
		return nil, err
	}
	f, err := Fold(store, spec)
	if err != nil {
		return nil, err
	}
	var sites []KeyedSite
	for _, a := range f.accesses() {
		sites = append(sites, KeyedSite{a.site, a.reads, a.at, a.weights(), f.keyNames(a)})
	}
	return sites, nil
}

// headNames returns the names of the heads of an attention.
func (f *Folded) headNames(site string) []string {
	var names []string
	for h := range f.c.HeadCount() {
		names = append(names, headName(f.sites[site].Block, h))
	}
	return names
}
