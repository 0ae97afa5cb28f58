package models_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// The transformers that the zoo's presets start from: D = 768, L = 12, FF = 3072, V = 50257,
// N = 512, and D = 256, L = 4, FF = 1024, V = 257 without positions.
const (
	base162m       = 162_541_824
	baseQuickstart = 3_279_616
)

// zooCounts are the presets at the shape of transformer-162m: what each design adds, from
// its paper's or the design document's formulas, at 24 sites of 12 blocks.
func zooCounts() map[string]int {
	const (
		d, sites, blocks = 768, 24, 12
		rows             = 50257 + 512 // of the embedding and the positions
		dense            = 2 * d * 3072
	)
	return map[string]int{
		"hyper-static-162m":  base162m + 24*sites, // n (n+2) a site
		"hyper-dynamic-162m": base162m + 129_648,  // 111,216 and a norm's gain a site
		"mhc-162m":           base162m + 73_755*sites,
		"mhc-lite-162m":      base162m + (4*d*(24+8)+24+8+3)*sites,
		"kromhc-162m":        base162m + 36_879*sites,
		// Reads n D (1 + 2r + n) a site and one more without the n, in the place of all norms.
		"gated-residual-162m": base162m + 4*d*(1+2*80+4)*sites + 4*d*(1+2*80) - 25*d,
		// Of 48 keys at an attention and 24 at a feed-forward a scale of Dk and a projection of Dv.
		"rmt-dynamic-134m": rmtCount(32) + 72*(32+64)*blocks,
		// W_1 and W_2 at two sites: 4 D^2 a block, 190.85M.
		"highway-191m": base162m + 4*d*d*blocks,
		// One aggregate 3D -> D -> D, whose norm is the last one: 164.90M.
		"hieragg-165m": base162m + 4*d*d,
		// Dou et al.: each of six aggregates 3D -> 4D -> D has its own weights and norm, and
		// the first has nothing to read but x and y, 2D: 216.8M.
		"hieragg-dou": base162m + (5*16+12)*d*d + 5*d,
		// 10 D^2 a block, 233.32M, and the gates' gains and biases and the norm of g, 10 D,
		// for the two norms, 2 D.
		"dwlstm-233m": base162m + (10*d*d+8*d)*blocks,
		// A site 2n(2m+n) + d(2m+n) + d, slots of d = D/m; W_reduce, 0.885M; tables half as
		// wide again; at r = 1.5 no norm of groups.
		// Averages after blocks 5 and 10, of 2 and 3 outputs; after each of 4 blocks.
		"denseformer-162m": base162m + 2 + 3,
		// 64 hidden entries after each block, whose sums' weights are 8, 12, .., 48 and 13, and two norms
		// more before 11 attentions: 0.63M.
		"mudd-162m": base162m + d*64*blocks + (64+1)*(308+13) + 2*d*11,
		"vwn-2x3":   base162m + (2*3*7+384*7+384)*sites + 884_736 + rows*(1152-d),
		// A query and a gain at all sites but the first, and at the end.
		"attnres-162m": base162m + 2*d*sites, "attnres-full-162m": base162m + 2*d*sites,
		"attnres-delta-162m": base162m + 2*d*(sites-2), // of sites that a finished block precedes
		"deep-delta-162m":    base162m + (d+1)*5*sites + (4*4*d+4)*(blocks+1),
		// Two norms a site and at the end; a norm a site, and none at the end.
		"siamese-162m": base162m + 2*d*(sites+1), "keel-162m": base162m + d*(sites-1),
		"wide-162m": base162m + 2*4*sites + 4, // factors to read and to write, and those of the last read
		// Tables and the last norm of 1536; a site's norms of 1536 and 768, and two maps: 82.6% more.
		"wide-latent-162m": base162m + (rows+50257+1)*(1536-d) + (1536+2*1536*d)*sites,
		// Two weights and a map of rank 32 a site; a norm a site and a map of rank 64 with its norm a block.
		"laurel-162m":       base162m + (2+2*32*d)*sites,
		"laurel-gemma-162m": base162m + d*sites + (2*64*d+d)*blocks,
		"two-lane-162m":     base162m + 3*sites,
		// r = 8: tables and W_reduce of 6144, and its norm.
		"vwn-8x64": base162m + (2*64*80+96*80+96)*sites + 6144*d + 6144 + rows*(6144-d),
		// Three matrices of 2/3 of the width, and two as wide.
		"swiglu-162m": base162m,
		"relu2-162m":  base162m,
		// No positions, keys and values of 4 heads of 64 in the place of 12, two gains a head's size;
		// three matrices of 2/3 of the width. Without positions the RMT has no keys to write them.
		"modern-162m":     base162m - 512*d + (2*64-2*d*(d-4*64))*blocks,
		"rmt-modern-134m": rmtCount(32) - 512*d - 12*32 + 2*64*blocks,
		// 8 experts of half the width and a router for each feed-forward.
		"moe-8x2": base162m + (8*dense/2+8*d-dense)*blocks,

		"rmt-134m-lecun": 134_291_072,
		"rmt-134m-dk16":  rmtCount(16), "rmt-134m-dk64": rmtCount(64), "rmt-134m-dk128": rmtCount(128),
		"transformer-d512": transformerCount(512), "transformer-d1024": transformerCount(1024), "transformer-d1536": transformerCount(1536),
	}
}

// rmtCount is 2 R Dv V + R Dv N + 2 L R Dv FF + 3 R Dk (2L+1) + (2L+1) Dk Dv.
func rmtCount(dk int) int {
	const width, rank, dv, blocks, sites = 768, 12, 64, 12, 25
	return 2*width*50257 + width*512 + 2*blocks*width*3072 + 3*rank*dk*sites + sites*dk*dv
}

// transformerCount is 2 V D + N D + 12 D^2 L + (2L+1) D at L = 12.
func transformerCount(d int) int { return 2*50257*d + 512*d + 12*d*d*12 + 25*d }

// quickstartCounts are the small models, of 8 sites in 4 blocks.
func quickstartCounts() map[string]int {
	const (
		d, sites, blocks = 256, 8, 4
		dense            = 2 * d * 1024
	)
	return map[string]int{
		"quickstart-hyper-static":  baseQuickstart + 24*sites,
		"quickstart-hyper-dynamic": baseQuickstart + (d*6+24+2+d)*sites,
		"quickstart-mhc":           baseQuickstart + (4*d*24+24+3)*sites,
		"quickstart-mhc-lite":      baseQuickstart + (4*d*32+32+3)*sites,
		"quickstart-kromhc":        baseQuickstart + (4*d*12+12+3)*sites,
		"quickstart-rmt-dynamic":   2*257*d + (dense+48*(32+32))*blocks + (6*4+2)*8*32 + 9*32*32,
		"quickstart-highway":       baseQuickstart + 4*d*d*blocks,
		"quickstart-hieragg":       baseQuickstart + 4*d*d,
		"quickstart-dwlstm":        baseQuickstart + (10*d*d+8*d)*blocks,
		"quickstart-denseformer":   baseQuickstart + 2 + 3 + 4 + 5,
		"quickstart-attnres":       baseQuickstart + 2*d*sites,
		"quickstart-attnres-delta": baseQuickstart + 2*d*(sites-1),
		"quickstart-siamese":       baseQuickstart + 2*d*(sites+1),
		"quickstart-keel":          baseQuickstart + d*(sites-1),
		"quickstart-wide":          baseQuickstart + 2*4*sites + 4,
		"quickstart-wide-latent":   baseQuickstart + (2*257+1)*(512-d) + (512+2*512*d)*sites,
		"quickstart-laurel":        baseQuickstart + (2+2*8*d)*sites,
		"quickstart-laurel-gemma":  baseQuickstart + d*sites + (2*8*d+d)*blocks,
		"quickstart-two-lane":      baseQuickstart + 3*sites,
		"quickstart-vwn":           baseQuickstart + (2*3*7+128*7+128)*sites + 384*d + 257*(384-d),
		"quickstart-swiglu":        baseQuickstart + (3*d*688-dense)*blocks,
		"quickstart-relu2":         baseQuickstart,
		"quickstart-relu":          baseQuickstart,
		"quickstart-looped":        baseQuickstart,
		// Two blocks of four maps D x D and a norm, and the last norm.
		"attention-only":        2*257*d + 2*(4*d*d+d) + d,
		"quickstart-modern":     baseQuickstart + (3*d*704-dense+2*32-2*d*(d-2*32))*blocks,
		"quickstart-rmt-modern": 2*257*d + (3*d*704+2*32)*blocks + (6*4+2)*8*32 + 9*32*32,
		"quickstart-moe":        baseQuickstart + (8*dense/2+8*d-dense)*blocks,
		// Hidden layers as wide as the 8, 12 and 16 weights, and four times the last 5.
		"quickstart-mudd": baseQuickstart + d*(8+12+16+20) + 9*8 + 13*12 + 17*16 + 21*5 + 2*d*3,
		// Reads in the place of all norms.
		"quickstart-gated-residual": baseQuickstart + 4*d*(1+2*16+4)*sites + 4*d*(1+2*16) - 9*d,

		"quickstart-deep-delta":        baseQuickstart + (d+1)*5*sites + (4*4*d+4)*(blocks+1),
		"quickstart-deep-delta-vector": baseQuickstart + (d+1)*2*sites,
	}
}

// TestZooCountsAsPrinted compares the counts of this file with the design document's digits.
func TestZooCountsAsPrinted(t *testing.T) {
	counts := zooCounts()
	for name, millions := range map[string]float64{"highway-191m": 190.85, "hieragg-165m": 164.90, "hieragg-dou": 216.8} {
		digits := 0.005
		if name == "hieragg-dou" {
			digits = 0.05
		}
		assert.InDelta(t, millions, float64(counts[name])/1e6, digits, name)
	}
	assert.InDelta(t, 233.32, float64(counts["dwlstm-233m"]-12*8*768)/1e6, 0.005, "without gains and biases")
	assert.InDelta(t, 82.6, 100*float64(counts["wide-latent-162m"]-base162m)/base162m, 0.05, "per cent of latents")
	assert.InDelta(t, 0.73, 100*float64(counts["laurel-162m"]-base162m)/base162m, 0.005, "per cent of LAuReL of rank 32")
	assert.InDelta(t, 0.74, 100*float64(counts["laurel-gemma-162m"]-base162m)/base162m, 0.005, "per cent of Gemma 3n's")
	assert.InDelta(t, 1.09, 100*float64(counts["mhc-162m"]-base162m)/base162m, 0.005, "per cent of mHC")
	assert.Equal(t, 111_216, counts["hyper-dynamic-162m"]-base162m-24*768)
}

// TestZooFLOPs compares what streams of n rows add to transformer-162m's 257 MFLOP a token
// with the papers' formulas a site, matrix products alone.
func TestZooFLOPs(t *testing.T) {
	flops := func(name string) int {
		p, err := models.Standard().Preset(name)
		require.NoError(t, err)
		return modeltest.Resolve(t, p.Config).Cost().ForwardFLOPs
	}
	const n, d, sites = 4, 768, 24
	base := flops("transformer-162m")
	assert.InDelta(t, 257, float64(base)/1e6, 0.5, "the transformer")
	static := 2*d*n*(n+1) + 2*d*n
	assert.Equal(t, static*sites, flops("hyper-static-162m")-base)
	assert.InDelta(t, 0.34, 100*float64(static*sites)/float64(base), 0.005, "per cent of static hyper-connections")
	assert.Equal(t, static*sites+2*n*d, flops("wide-162m")-base, "as static hyper-connections, by which it runs, and a last read")
	assert.Equal(t, 4*2*d*d*sites+2*50257*d, flops("wide-latent-162m")-base)
	assert.Equal(t, (4*32*d+2*3*d)*sites, flops("laurel-162m")-base, "a map of rank 32 and three weighted terms")
	assert.Equal(t, 4*64*d*sites/2, flops("laurel-gemma-162m")-base, "a map of rank 64 a block")
	assert.InDelta(t, 74, 100*float64(flops("wide-latent-162m")-base)/float64(base), 0.5, "per cent of latents")
	assert.Equal(t, (static+2*d*n*(n+2))*sites, flops("hyper-dynamic-162m")-base)
	assert.Equal(t, (2*n*d*(n*n+2*n)+2*n*n*d+4*n*d)*sites, flops("mhc-162m")-base)
	assert.Equal(t, (2*n*d*(24+2*n)+2*n*n*d+4*n*d)*sites, flops("mhc-lite-162m")-base)
	assert.Equal(t, (2*n*d*12+2*n*n*d+4*n*d)*sites, flops("kromhc-162m")-base)
	assert.Equal(t, (2*n*d*(2*80+n)+4*n*d)*sites+2*n*d*2*80+2*n*d, flops("gated-residual-162m")-base)
	assert.Equal(t, 2*4*d*d*12, flops("highway-191m")-base)
	assert.Equal(t, 2*4*d*d*6, flops("hieragg-165m")-base, "six aggregates of the same weights")
	assert.Equal(t, 2*10*d*d*12, flops("dwlstm-233m")-base)
	assert.Equal(t, 2*8*d*12, flops("moe-8x2")-base, "two experts of half the width, and the router")
}
