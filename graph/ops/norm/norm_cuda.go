package norm

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// The sizes in cuda/norm.cu: the pieces of a row that a thread handles in the forward pass, and the
// elements of a piece.
const (
	normPiece = 8
	normKept  = 4
)

// DeviceStats holds a normalisation's statistics on a device, [rows] each.
type DeviceStats struct{ Mean, Rstd cuda.Array }

// OnDevice returns device memory for the statistics of the given number of rows.
func (s *Stats) OnDevice(c *graph.DeviceCall, rows int) DeviceStats {
	both := c.Saved(&s.Device, cuda.F32, 2*rows)
	return DeviceStats{both.Slice(0, rows), both.Slice(rows, rows)}
}

func (k norm) Launch(c *graph.DeviceCall) {
	p := k.params(c.Signature(0), c.Signature(1))
	saved := k.saved.OnDevice(c, p.Rows)
	x := c.InAs(0, c.Out().Type)
	params := c.InAll(cuda.F32, 1, 2)
	Forward(c, c.Out(), x, params[0], params[1], saved, p)
}

// Forward normalises the rows of x into y, of the same type; if y is the zero Array, it only
// computes the statistics.
func Forward(c *graph.DeviceCall, y, x, gain, bias cuda.Array, saved DeviceStats, p kernel.NormParams) {
	warps := min(8, cuda.CeilDiv(p.Width, 32*normPiece*normKept)) // warps for each row
	teams := 8 / warps
	vectors := p.Width%normPiece == 0 && cuda.Aligned16(y, x, gain, bias)
	c.Launch("norm_forward"+x.Suffix(), cuda.Grid{X: cuda.CeilDiv(p.Rows, teams), Threads: 32 * warps * teams},
		y, x, gain, bias, saved.Mean, saved.Rstd,
		cuda.Long(p.Rows), cuda.Ints(p.Width, p.Groups), cuda.Bool(p.RMS), cuda.Float(p.Eps), cuda.Int(warps), cuda.Bool(vectors))
}

func (k normGrad) Launch(c *graph.DeviceCall) {
	g := DeviceGrad{NormParams: k.of.params(c.Signature(1), c.Signature(2)), Call: c, DX: c.Out()}
	arrays := c.InAll(g.DX.Type, 0, 1, 3)
	g.DY, g.X, g.Addend = arrays[0], arrays[1], arrays[2]
	g.Processors = c.Multiprocessors()
	g.Gain = c.InAs(2, cuda.F32)
	g.Saved = k.of.saved.OnDevice(c, g.Rows)
	g.DGain = c.SecondarySum(0, g.Teams())
	g.DBias = c.SecondarySum(1, g.Teams())
	g.Launch()
}

// DeviceGrad is a normalisation's backward pass on a device.
type DeviceGrad struct {
	kernel.NormParams
	Call              *graph.DeviceCall
	Processors        int
	DX, DY, X, Addend cuda.Array // [rows, width], of one type; Addend may be the zero Array
	Gain              cuda.Array // [groups, width]
	Saved             DeviceStats
	DGain, DBias      graph.SecondarySum
}

// warps returns the number of warps for a row, with one piece for each thread.
func (g *DeviceGrad) warps() int { return cuda.CeilDiv(g.Width, 32*normPiece) }

// wide tells whether the rows are too wide for that, or do not consist of whole, aligned pieces.
func (g *DeviceGrad) wide() bool {
	return g.warps() > 16 || g.Width%normPiece != 0 || !cuda.Aligned16(g.DX, g.DY, g.X, g.Addend, g.Gain)
}

// blocks returns the number of blocks that share the rows of a group: as many as run at once, but
// at most an eighth of the number of rows.
func (g *DeviceGrad) blocks() int {
	rows := cuda.CeilDiv(g.Rows/g.Groups, g.teamsOfBlock())
	threads := 1024 // threads that a multiprocessor can hold, given their registers
	if g.DX.Type == cuda.F32 {
		threads = 768
	}
	atOnce := g.Processors * max(1, threads/g.threads())
	return max(1, min(cuda.CeilDiv(rows, 8), cuda.CeilDiv(atOnce, g.Groups)))
}

// threads returns the number of threads of a block.
func (g *DeviceGrad) threads() int { return 32 * min(16, g.warps()) * g.teamsOfBlock() }

func (g *DeviceGrad) teamsOfBlock() int {
	if g.wide() {
		return 1
	}
	return max(1, 8/g.warps())
}

// Teams returns the number of teams of warps that leave partial sums, for each group.
func (g *DeviceGrad) Teams() int { return g.blocks() * g.teamsOfBlock() }

// Launch starts the kernels.
func (g *DeviceGrad) Launch() {
	start := g.narrow
	if g.wide() {
		start = g.anyWidth
	}
	start()
	g.Call.FinishSums(g.Groups, g.DGain, g.DBias)
}

func (g *DeviceGrad) args() cuda.Args {
	return cuda.Args{
		g.DX, g.DGain.Partial, g.DBias.Partial, g.DY, g.X, g.Addend,
		g.Gain, g.Saved.Mean, g.Saved.Rstd,
		cuda.Long(g.Rows), cuda.Ints(g.Width, g.Groups), cuda.Bool(g.RMS),
	}
}

func (g *DeviceGrad) narrow() {
	grid := cuda.Grid{X: g.blocks(), Y: g.Groups, Threads: g.threads()}
	g.Call.Launch("norm_backward"+g.DX.Suffix(), grid, g.args(), cuda.Int(g.warps()))
}

// anyWidth starts the kernels for rows of any width: first the sums for the parameters' gradients,
// which read dy and x, since dx may overwrite either.
func (g *DeviceGrad) anyWidth() {
	if !g.DGain.To.None() || !g.DBias.To.None() {
		grid := cuda.Grid{X: cuda.CeilDiv(g.Width, 512), Y: g.Groups, Z: g.blocks(), Threads: 512}
		g.Call.Launch("norm_sums"+g.DX.Suffix(), grid, g.args())
	}
	g.Call.Launch("norm_backward_wide"+g.DX.Suffix(), cuda.Grid{X: g.Rows, Threads: 512}, g.args())
}
