package stream

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream/linear"
)

// WritesDesign holds the settings of what happens to what sublayers write before the stream takes
// it, under any stream: the struct's fields are the keys of a model's section writes.
type WritesDesign interface {
	// Name is the kind in configs.
	Name() string
	// Card describes it for readers.
	Card() layers.Card
	// Check returns a *layers.SettingError for the first setting that is not valid.
	Check() error
	// Cost returns the cost at one site.
	Cost(at Sublayer, s WriteSizes) layers.Cost
	// New makes the parameters of a site; their names start with the site's.
	New(b *graph.Builder, at Site, s WriteSizes) Writes
}

// WriteSizes are the entries of a token that a site reads and writes.
type WriteSizes struct {
	Width       int // of what it writes
	Queries, KV int // of an attention's queries; of its keys, and of its values
}

// Writes changes what the sublayer of one site writes.
type Writes interface {
	// Written changes what the sublayer writes, y [T, ...].
	Written(y *gorgonia.Node, rows TokenRows) *gorgonia.Node
	// Heads changes an attention's queries, keys and values before it uses them, packed [T, Queries
	// + 2 KV].
	Heads(qkv *gorgonia.Node, rows TokenRows) *gorgonia.Node
	// Over returns Written as a linear step over tokens, nil if it changes nothing.
	Over() linear.Over
}

// TokenRows says how tokens lie in rows: Seq in each, and where documents are masked the index in
// the row of the first token that each may see, [T] Int32, otherwise nil.
type TokenRows struct {
	Seq    int
	Starts *gorgonia.Node
}

// SiteWrites are the Writes of a model's sites.
type SiteWrites struct {
	sites []Writes // by Site.Index
	names []string
	rows  TokenRows
	done  map[int]bool
}

// NewSiteWrites makes the parameters of all sites.
func NewSiteWrites(b *graph.Builder, d WritesDesign, sites []Site, sizes WriteSizes) *SiteWrites {
	w := &SiteWrites{}
	for _, at := range sites {
		w.sites, w.names = append(w.sites, d.New(b, at, sizes)), append(w.names, at.Name())
	}
	return w
}

// Begin says how the tokens lie that the sites see from now on.
func (w *SiteWrites) Begin(rows TokenRows) {
	if w != nil {
		w.rows, w.done = rows, map[int]bool{}
	}
}

// Heads changes packed queries, keys and values.
func (w *SiteWrites) Heads(at Site, qkv *gorgonia.Node) *gorgonia.Node {
	if w == nil || qkv == nil {
		return qkv
	}
	return w.sites[at.Index].Heads(qkv, w.rows)
}

// End returns an error if the stream has left out a site.
func (w *SiteWrites) End() error {
	if w == nil {
		return nil
	}
	for i, name := range w.names {
		if !w.done[i] {
			return errors.Errorf("stream: %s: want what the sublayer writes to pass through Common.Written, got a stream that leaves it out", name)
		}
	}
	return nil
}

// Over returns what is done to what a source writes, nil if nothing is.
func (w *SiteWrites) Over(source string) linear.Over {
	if w == nil {
		return nil
	}
	for i, name := range w.names {
		if name == source {
			return w.sites[i].Over()
		}
	}
	return nil
}

// own restricts a form without a run to one token: what a site writes is then the part that depends
// on that token itself (linear.Over.Own).
func (w *SiteWrites) own(f *Frozen) {
	if w == nil || f.record != nil {
		return
	}
	for i, name := range w.names {
		if over := w.sites[i].Over(); over != nil {
			f.Precompose(name, over.Own())
		}
	}
}

// Written passes what a site's sublayer writes, y [T, ...], through the model's section writes.
// Each stream calls it before it uses y; one that embeds a Vector need not.
func (c Common) Written(at Site, y *gorgonia.Node) *gorgonia.Node {
	w := c.Writes
	if w == nil || y == nil {
		return y
	}
	w.done[at.Index] = true
	return w.sites[at.Index].Written(y, w.rows)
}
