// Package stream has the residual streams: the ways in which a language model carries
// information past its layers. Tokens are embedded into a stream, sublayers read and write it, the
// unembedding reads it; the blocks between a read and a write (package layers) do not depend on
// which stream it is.
package stream

import (
	"fmt"

	"gorgonia.org/gorgonia"
)

// State is what a stream carries between layers: one vector, one matrix, n copies, a
// pair. Each stream has its own type; Nodes lists its nodes.
type State interface {
	Nodes() gorgonia.Nodes
}

// Link carries what a write needs from its read: the normalised input, coefficients
// computed in one pass for both. Each stream has its own types; nil if a write needs nothing.
type Link any

// Sublayer is attention or feed-forward.
type Sublayer string

// The sublayers of a block.
const (
	Attention   Sublayer = "attention"
	FeedForward Sublayer = "feedforward"
)

// Site is one sublayer of one block.
type Site struct {
	Block    int
	Sublayer Sublayer
	Index    int // counts the sublayers of the whole model
}

// Name is the prefix of the site's parameters, "blocks.3.attention".
func (s Site) Name() string { return fmt.Sprintf("blocks.%d.%s", s.Block, s.Sublayer) }

// siteNames returns the names of sites.
func siteNames(sites []Site) (names []string) {
	for _, at := range sites {
		names = append(names, at.Name())
	}
	return names
}

// Tokens are a model's input, all [batch, seq] Int32: token ids; their positions in their rows, nil
// if the stream has no position table; and, if documents are masked, the index in the row of the
// first token that each may see, otherwise nil.
type Tokens struct{ IDs, Positions, Starts *gorgonia.Node }

// Stream is a residual stream. Methods make nodes through the graph.Builder that the
// stream was made with; errors are the builder's.
type Stream interface {
	// Embed returns the initial state of tokens.
	Embed(t Tokens) State
	// Sites lists the sublayers of a block, in order.
	Sites(block int) []Site
	// ReadHeads reads the input of a site's attention: q, k and v, packed [T, H + 2 KV, Dh].
	ReadHeads(s State, at Site) (qkv *gorgonia.Node, link Link)
	// WriteHeads writes the output of a site's attention, o [T, H, Dh].
	WriteHeads(s State, at Site, link Link, o *gorgonia.Node) State
	// ReadFeatures reads the input of a site's feed-forward, u [T, ...F].
	ReadFeatures(s State, at Site) (u *gorgonia.Node, link Link)
	// WriteFeatures writes the output of a site's feed-forward, y [T, F].
	WriteFeatures(s State, at Site, link Link, y *gorgonia.Node) State
	// EndBlock is called after the sublayers of each block.
	EndBlock(s State, block int) State
	// Features returns the unembedding's input [T, ...F].
	Features(s State) *gorgonia.Node
	// Table returns the embedding's table, for a tied unembedding.
	Table() *gorgonia.Node
}

// sites lists a block's sites: attention and feed-forward, or attention alone.
func (c Common) sites(block int) []Site {
	if c.AttentionOnly {
		return []Site{{block, Attention, block}}
	}
	return twoSites(block)
}

// AllSites lists the sublayers of all blocks, in order.
func (c Common) AllSites() (all []Site) {
	for block := range c.Layers {
		all = append(all, c.sites(block)...)
	}
	return all
}

// lastSite returns the last sublayer of the model.
func (c Common) lastSite() Site {
	all := c.AllSites()
	return all[len(all)-1]
}

// first returns the index of a site among the sites of first passes. Parameters whose initial
// values differ from site to site are initialised by it, so that all passes of a loop agree.
func (c Common) first(at Site) int {
	return at.Index - len(c.sites(at.Block))*(at.Block-c.Loop.Block(at.Block))
}

// twoSites lists attention and feed-forward, the sublayers of most streams.
func twoSites(block int) []Site {
	return []Site{{block, Attention, 2 * block}, {block, FeedForward, 2*block + 1}}
}
