//go:build cuda

package graph

import (
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// The sizes of cuda/norm.cu: a thread's pieces of a row, forward, and their elements.
const (
	normPiece = 8
	normKept  = 4
)

// deviceStats are a normalisation's statistics on a device, [rows] each.
type deviceStats struct{ mean, rstd cuda.Array }

func (s *stats) onDevice(c *DeviceCall, rows int) (deviceStats, error) {
	both, err := c.Saved(&s.device, cuda.F32, 2*rows)
	return deviceStats{both.Slice(0, rows), both.Slice(rows, rows)}, err
}

// aligned16 tells whether all arrays begin at multiples of 16 bytes.
func aligned16(arrays ...cuda.Array) bool {
	for _, a := range arrays {
		if a.Ptr%16 != 0 {
			return false
		}
	}
	return true
}

func (k norm) Launch(c *DeviceCall) error {
	p := k.params(c.Signature(0), c.Signature(1))
	saved, err := k.saved.onDevice(c, p.Rows)
	if err != nil {
		return err
	}
	x, err := c.InAs(0, c.Out().Type)
	if err != nil {
		return err
	}
	params, err := c.InAll(cuda.F32, 1, 2)
	if err != nil {
		return err
	}
	return c.normForward(c.Out(), x, params[0], params[1], saved, p)
}

// normForward normalises the rows of x into y, of the same type, or, where y is none,
// finds their statistics alone.
func (c *DeviceCall) normForward(y, x, gain, bias cuda.Array, saved deviceStats, p kernel.NormParams) error {
	warps := min(8, cuda.CeilDiv(p.Width, 32*normPiece*normKept)) // a row
	teams := 8 / warps
	vectors := p.Width%normPiece == 0 && aligned16(y, x, gain, bias)
	return c.Launch("norm_forward"+x.Suffix(), cuda.Grid{X: cuda.CeilDiv(p.Rows, teams), Threads: 32 * warps * teams},
		y.Arg(), x.Arg(), gain.Arg(), bias.Arg(), saved.mean.Arg(), saved.rstd.Arg(),
		cuda.Long(p.Rows), cuda.Int(p.Width), cuda.Int(p.Groups), cuda.Bool(p.RMS), cuda.Float(p.Eps), cuda.Int(warps), cuda.Bool(vectors))
}

func (k normGrad) Launch(c *DeviceCall) error {
	g := deviceNormGrad{NormParams: k.of.params(c.Signature(1), c.Signature(2)), c: c, dx: c.Out()}
	arrays, err := c.InAll(g.dx.Type, 0, 1, 3)
	if err != nil {
		return err
	}
	g.dy, g.x, g.addend = arrays[0], arrays[1], arrays[2]
	if g.processors, err = c.Device().Multiprocessors(); err != nil {
		return err
	}
	if g.gain, err = c.InAs(2, cuda.F32); err != nil {
		return err
	}
	if g.saved, err = k.of.saved.onDevice(c, g.Rows); err != nil {
		return err
	}
	if g.dgain, err = c.SecondarySum(0, g.teams()); err != nil {
		return err
	}
	if g.dbias, err = c.SecondarySum(1, g.teams()); err != nil {
		return err
	}
	return g.launch()
}

// deviceNormGrad is a norm's backward pass on a device.
type deviceNormGrad struct {
	kernel.NormParams
	c                 *DeviceCall
	processors        int
	dx, dy, x, addend cuda.Array // [rows, width], of one type; addend may be none
	gain              cuda.Array // [groups, width]
	saved             deviceStats
	dgain, dbias      SecondarySum
}

// warps are those that have a row, a piece a thread.
func (g *deviceNormGrad) warps() int { return cuda.CeilDiv(g.Width, 32*normPiece) }

// wide tells whether the rows are too wide for that.
func (g *deviceNormGrad) wide() bool { return g.warps() > 16 }

// blocks are those that share the rows of a group: as many as run at once where a
// multiprocessor holds 640 threads, but no more than an eighth of the rows' number.
func (g *deviceNormGrad) blocks() int {
	rows := cuda.CeilDiv(g.Rows/g.Groups, g.teamsOfBlock())
	atOnce := g.processors * max(1, 640/g.threads())
	return max(1, min(cuda.CeilDiv(rows, 8), cuda.CeilDiv(atOnce, g.Groups)))
}

// threads are those of a block.
func (g *deviceNormGrad) threads() int { return 32 * min(16, g.warps()) * g.teamsOfBlock() }

func (g *deviceNormGrad) teamsOfBlock() int {
	if g.wide() {
		return 1
	}
	return max(1, 8/g.warps())
}

// teams are those that leave sums, of each group.
func (g *deviceNormGrad) teams() int { return g.blocks() * g.teamsOfBlock() }

func (g *deviceNormGrad) launch() error {
	start := g.narrow
	if g.wide() {
		start = g.anyWidth
	}
	if err := start(); err != nil {
		return err
	}
	if err := g.dgain.Finish(g.c, g.Groups); err != nil {
		return err
	}
	return g.dbias.Finish(g.c, g.Groups)
}

func (g *deviceNormGrad) args() []cuda.Arg {
	return []cuda.Arg{
		g.dx.Arg(), g.dgain.Partial.Arg(), g.dbias.Partial.Arg(), g.dy.Arg(), g.x.Arg(), g.addend.Arg(),
		g.gain.Arg(), g.saved.mean.Arg(), g.saved.rstd.Arg(),
		cuda.Long(g.Rows), cuda.Int(g.Width), cuda.Int(g.Groups), cuda.Bool(g.RMS),
	}
}

func (g *deviceNormGrad) narrow() error {
	vectors := g.Width%normPiece == 0 && aligned16(g.dx, g.dy, g.x, g.addend, g.gain)
	grid := cuda.Grid{X: g.blocks(), Y: g.Groups, Threads: g.threads()}
	return g.c.Launch("norm_backward"+g.dx.Suffix(), grid, append(g.args(), cuda.Int(g.warps()), cuda.Bool(vectors))...)
}

// anyWidth sums the parameters' gradients first: dx may lie where the addend does.
func (g *deviceNormGrad) anyWidth() error {
	if !g.dgain.To.None() || !g.dbias.To.None() {
		grid := cuda.Grid{X: cuda.CeilDiv(g.Width, 512), Y: g.Groups, Z: g.blocks(), Threads: 512}
		if err := g.c.Launch("norm_sums"+g.dx.Suffix(), grid, g.args()...); err != nil {
			return err
		}
	}
	return g.c.Launch("norm_backward_wide"+g.dx.Suffix(), cuda.Grid{X: g.Rows, Threads: 512}, g.args()...)
}
