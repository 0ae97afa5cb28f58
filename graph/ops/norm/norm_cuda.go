package norm

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// The sizes of cuda/norm.cu: a thread's pieces of a row, forward, and their elements.
const (
	normPiece = 8
	normKept  = 4
)

// DeviceStats are a normalisation's statistics on a device, [rows] each.
type DeviceStats struct{ Mean, Rstd cuda.Array }

// OnDevice returns the statistics' memory on a device, of rows rows.
func (s *Stats) OnDevice(c *graph.DeviceCall, rows int) (DeviceStats, error) {
	both, err := c.Saved(&s.device, cuda.F32, 2*rows)
	return DeviceStats{both.Slice(0, rows), both.Slice(rows, rows)}, err
}

func (k norm) Launch(c *graph.DeviceCall) error {
	p := k.params(c.Signature(0), c.Signature(1))
	saved, err := k.saved.OnDevice(c, p.Rows)
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
	return Forward(c, c.Out(), x, params[0], params[1], saved, p)
}

// Forward normalises the rows of x into y, of the same type, or, where y is none,
// finds their statistics alone.
func Forward(c *graph.DeviceCall, y, x, gain, bias cuda.Array, saved DeviceStats, p kernel.NormParams) error {
	warps := min(8, cuda.CeilDiv(p.Width, 32*normPiece*normKept)) // a row
	teams := 8 / warps
	vectors := p.Width%normPiece == 0 && cuda.Aligned16(y, x, gain, bias)
	return c.Launch("norm_forward"+x.Suffix(), cuda.Grid{X: cuda.CeilDiv(p.Rows, teams), Threads: 32 * warps * teams},
		y.Arg(), x.Arg(), gain.Arg(), bias.Arg(), saved.Mean.Arg(), saved.Rstd.Arg(),
		cuda.Long(p.Rows), cuda.Int(p.Width), cuda.Int(p.Groups), cuda.Bool(p.RMS), cuda.Float(p.Eps), cuda.Int(warps), cuda.Bool(vectors))
}

func (k normGrad) Launch(c *graph.DeviceCall) error {
	g := DeviceGrad{NormParams: k.of.params(c.Signature(1), c.Signature(2)), Call: c, DX: c.Out()}
	arrays, err := c.InAll(g.DX.Type, 0, 1, 3)
	if err != nil {
		return err
	}
	g.DY, g.X, g.Addend = arrays[0], arrays[1], arrays[2]
	if g.Processors, err = c.Device().Multiprocessors(); err != nil {
		return err
	}
	if g.Gain, err = c.InAs(2, cuda.F32); err != nil {
		return err
	}
	if g.Saved, err = k.of.saved.OnDevice(c, g.Rows); err != nil {
		return err
	}
	if g.DGain, err = c.SecondarySum(0, g.Teams()); err != nil {
		return err
	}
	if g.DBias, err = c.SecondarySum(1, g.Teams()); err != nil {
		return err
	}
	return g.Launch()
}

// DeviceGrad is a norm's backward pass on a device.
type DeviceGrad struct {
	kernel.NormParams
	Call              *graph.DeviceCall
	Processors        int
	DX, DY, X, Addend cuda.Array // [rows, width], of one type; addend may be none
	Gain              cuda.Array // [groups, width]
	Saved             DeviceStats
	DGain, DBias      graph.SecondarySum
}

// warps are those that have a row, a piece a thread.
func (g *DeviceGrad) warps() int { return cuda.CeilDiv(g.Width, 32*normPiece) }

// wide tells whether the rows are too wide for that.
func (g *DeviceGrad) wide() bool { return g.warps() > 16 }

// blocks are those that share the rows of a group: as many as run at once where a
// multiprocessor holds 640 threads, but no more than an eighth of the rows' number.
func (g *DeviceGrad) blocks() int {
	rows := cuda.CeilDiv(g.Rows/g.Groups, g.teamsOfBlock())
	atOnce := g.Processors * max(1, 640/g.threads())
	return max(1, min(cuda.CeilDiv(rows, 8), cuda.CeilDiv(atOnce, g.Groups)))
}

// threads are those of a block.
func (g *DeviceGrad) threads() int { return 32 * min(16, g.warps()) * g.teamsOfBlock() }

func (g *DeviceGrad) teamsOfBlock() int {
	if g.wide() {
		return 1
	}
	return max(1, 8/g.warps())
}

// Teams are those that leave sums, of each group.
func (g *DeviceGrad) Teams() int { return g.blocks() * g.teamsOfBlock() }

// Launch starts the kernels.
func (g *DeviceGrad) Launch() error {
	start := g.narrow
	if g.wide() {
		start = g.anyWidth
	}
	if err := start(); err != nil {
		return err
	}
	if err := g.DGain.Finish(g.Call, g.Groups); err != nil {
		return err
	}
	return g.DBias.Finish(g.Call, g.Groups)
}

func (g *DeviceGrad) args() []cuda.Arg {
	return []cuda.Arg{
		g.DX.Arg(), g.DGain.Partial.Arg(), g.DBias.Partial.Arg(), g.DY.Arg(), g.X.Arg(), g.Addend.Arg(),
		g.Gain.Arg(), g.Saved.Mean.Arg(), g.Saved.Rstd.Arg(),
		cuda.Long(g.Rows), cuda.Int(g.Width), cuda.Int(g.Groups), cuda.Bool(g.RMS),
	}
}

func (g *DeviceGrad) narrow() error {
	vectors := g.Width%normPiece == 0 && cuda.Aligned16(g.DX, g.DY, g.X, g.Addend, g.Gain)
	grid := cuda.Grid{X: g.blocks(), Y: g.Groups, Threads: g.threads()}
	return g.Call.Launch("norm_backward"+g.DX.Suffix(), grid, append(g.args(), cuda.Int(g.warps()), cuda.Bool(vectors))...)
}

// anyWidth sums the parameters' gradients first: dx may lie where the addend does.
func (g *DeviceGrad) anyWidth() error {
	if !g.DGain.To.None() || !g.DBias.To.None() {
		grid := cuda.Grid{X: cuda.CeilDiv(g.Width, 512), Y: g.Groups, Z: g.blocks(), Threads: 512}
		if err := g.Call.Launch("norm_sums"+g.DX.Suffix(), grid, g.args()...); err != nil {
			return err
		}
	}
	return g.Call.Launch("norm_backward_wide"+g.DX.Suffix(), cuda.Grid{X: g.Rows, Threads: 512}, g.args()...)
}
