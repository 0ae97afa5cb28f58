package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/residua-go/residua/internal/longtest"
)

// attentionCase is one attention that the tests compare with the reference.
type attentionCase struct {
	AttentionParams
	starts []int32
}

func (c attentionCase) String() string {
	return fmt.Sprintf("batch%d_seq%d_heads%d_kv%d_dim%d_alibi%t_rope%g_starts%t_window%d_sinks%d",
		c.Batch, c.Seq, c.Heads, c.kvHeads(), c.HeadDim, c.Slopes != nil, c.RopeBase, c.starts != nil, c.Window, c.Sinks)
}

// attentionCases returns sizes below, at and beyond a block of queries and a chunk of keys, with
// every combination of options for some of them. Without long tests it leaves out the costliest.
func attentionCases() []attentionCase {
	cases := []attentionCase{
		newAttentionCase(1, 1, 1, 1, false, 0, false),
		newAttentionCase(1, 1, 1, 2, true, 10000, true),
		newAttentionCase(2, 7, 3, 5, false, 0, false),
		newAttentionCase(1, 64, 1, 8, true, 0, false),
		newAttentionCase(1, 65, 2, 16, false, 10000, false),
		newAttentionCase(2, 131, 3, 7, true, 0, true),
		newAttentionCase(1, 211, 1, 32, false, 100, true),
		newAttentionCase(1, 197, 5, 6, true, 500, true),
		newAttentionCase(3, 128, 1, 64, false, 0, true),
		newAttentionCase(1, attentionKeys+attentionQueries+5, 3, 4, true, 0, false),
		newAttentionCase(1, attentionKeys+3, 1, 33, false, 100, false),
	}
	long := newAttentionCase(1, 2*attentionKeys+7, 1, 2, false, 0, true)
	for i := range long.starts { // documents across chunks, in every other row the whole row
		long.starts[i] = int32(max(0, i/400*400-i%2*2000))
	}
	cases = append(cases, long)
	late := newAttentionCase(1, 150, 2, 4, false, 0, true)
	for i := range late.starts { // starts beyond the token itself, negative or decreasing
		late.starts[i] = int32(i + 3 - 40*(i%5))
	}
	cases = append(cases, late, grouped(2, 131, 6, 2, 5, true, 0, true), grouped(1, 197, 4, 1, 6, false, 500, true),
		grouped(1, attentionKeys+attentionQueries+5, 6, 3, 4, true, 100, false), grouped(3, 1, 4, 2, 4, false, 10, false))
	long.Seq, long.starts = 3*attentionKeys+attentionQueries+7, nil
	cases = append(cases,
		newAttentionCase(2, 7, 3, 5, false, 0, false).sliding(3, 0), newAttentionCase(2, 131, 2, 8, true, 0, false).sliding(16, 2),
		newAttentionCase(1, 150, 2, 4, false, 0, false).sliding(1, 0), newAttentionCase(1, 400, 1, 16, true, 100, false).sliding(100, 5),
		newAttentionCase(1, 300, 1, 4, false, 100, false).sliding(300, 4), newAttentionCase(1, 300, 1, 4, false, 0, false).sliding(40, 200),
		newAttentionCase(2, 397, 3, 6, true, 0, true).sliding(17, 3), grouped(1, 211, 4, 2, 8, false, 100, true).sliding(25, 7), late.sliding(20, 3), long.sliding(90, 4), long.sliding(700, 2),
		grouped(1, 2*attentionKeys+9, 4, 1, 4, true, 0, false).sliding(128, 4))
	if longtest.Enabled() {
		return cases
	}
	return slices.DeleteFunc(cases, func(c attentionCase) bool { // of the large ones, those of one head stay
		return c.Seq > attentionKeys+attentionQueries && (c.Heads > 1 || c.Window > attentionKeys)
	})
}

// sliding returns the case with a window.
func (c attentionCase) sliding(window, sinks int) attentionCase {
	c.Window, c.Sinks = window, sinks
	return c
}

// sees tells, by the definition, whether a query sees a key of its row.
func (c attentionCase) sees(row, i, j int) bool {
	start := c.firstVisible(row, i)
	return start <= j && j <= i && (c.Window == 0 || j > i-c.Window || j < start+c.Sinks)
}

// grouped returns a case whose heads share keys and values.
func grouped(batch, seq, heads, kvHeads, dim int, alibi bool, rope float64, starts bool) attentionCase {
	c := newAttentionCase(batch, seq, heads, dim, alibi, rope, starts)
	c.KVHeads = kvHeads
	return c
}

func newAttentionCase(batch, seq, heads, dim int, alibi bool, rope float64, starts bool) attentionCase {
	c := attentionCase{AttentionParams: AttentionParams{
		Batch: batch, Seq: seq, Heads: heads, HeadDim: dim, Scale: 0.7 / math.Sqrt(float64(dim)), RopeBase: rope,
	}}
	if alibi {
		for h := range heads {
			c.Slopes = append(c.Slopes, math.Exp2(-8*float64(h+1)/float64(heads)))
		}
	}
	if starts {
		for row := range batch {
			for i := range seq {
				length := 29 + 60*row // in each row, documents of one length
				c.starts = append(c.starts, int32(i/length*length))
			}
		}
	}
	return c
}

// width returns the number of elements of a token's output.
func (c attentionCase) width() int { return c.Heads * c.HeadDim }

func (c attentionCase) randomQKV(seed uint64) []float64 {
	return gaussians(seed, c.Batch*c.Seq*c.packedWidth())
}

func (c attentionCase) randomOut(seed uint64) []float64 {
	return gaussians(seed, c.Batch*c.Seq*c.width())
}

func gaussians(seed uint64, n int) []float64 {
	rng := rand.New(rand.NewPCG(seed, 7))
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	return x
}

func castTo[T Float](x []float64) []T {
	y := make([]T, len(x))
	for i := range x {
		y[i] = T(x[i])
	}
	return y
}

// vector copies part (0: q, 1: k, 2: v) of token i of a row, with q and k rotated by RoPE.
func (c attentionCase) vector(qkv []float64, row, i, part, head int) []float64 {
	at := c.at(row, i, part, head)
	x := append([]float64(nil), qkv[at:at+c.HeadDim]...)
	if part < 2 && c.RopeBase != 0 {
		c.turn(x, float64(i))
	}
	return x
}

// at returns where part (0: q, 1: k, 2: v) of token i of a row begins in qkv.
func (c attentionCase) at(row, i, part, head int) int {
	heads := 0 // number of heads before the part's
	if part > 0 {
		heads = c.Heads + (part-1)*c.kvHeads()
		head /= c.Heads / c.kvHeads()
	}
	return (row*c.Seq+i)*c.packedWidth() + (heads+head)*c.HeadDim
}

// turn applies the rotation matrix of a position.
func (c attentionCase) turn(x []float64, pos float64) {
	half := c.HeadDim / 2
	for t := range half {
		angle := pos / math.Pow(c.RopeBase, 2*float64(t)/float64(c.HeadDim))
		z := complex(x[t], x[t+half]) * complex(math.Cos(angle), math.Sin(angle))
		x[t], x[t+half] = real(z), imag(z)
	}
}

func (c attentionCase) firstVisible(row, i int) int {
	if c.starts == nil {
		return 0
	}
	return max(0, min(i, int(c.starts[row*c.Seq+i])))
}

// attentionReference holds what Forward should compute, with whole matrices.
type attentionReference struct {
	out, lse, prob, dqkv []float64
}

// reference computes attention, and its gradient if dout is given, from the
// definitions.
func (c attentionCase) reference(qkv, dout []float64) attentionReference {
	r := attentionReference{
		out:  make([]float64, c.Batch*c.Seq*c.width()),
		lse:  make([]float64, c.Batch*c.Heads*c.Seq),
		prob: make([]float64, c.Batch*c.Heads*c.Seq*c.Seq),
		dqkv: make([]float64, len(qkv)),
	}
	for row := range c.Batch {
		for head := range c.Heads {
			c.referencePair(r, qkv, dout, row, head)
		}
	}
	return r
}

func (c attentionCase) referencePair(r attentionReference, qkv, dout []float64, row, head int) {
	part := func(p int) [][]float64 {
		rows := make([][]float64, c.Seq)
		for i := range rows {
			rows[i] = c.vector(qkv, row, i, p, head)
		}
		return rows
	}
	q, k, v := part(0), part(1), part(2)
	dq, dk, dv := zeroRows(c.Seq, c.HeadDim), zeroRows(c.Seq, c.HeadDim), zeroRows(c.Seq, c.HeadDim)
	for i := range c.Seq {
		pair := row*c.Heads + head
		prob := r.prob[(pair*c.Seq+i)*c.Seq:][:c.Seq]
		r.lse[pair*c.Seq+i] = c.referenceRow(prob, q[i], k, row, head, i)
		at := ((row*c.Seq+i)*c.Heads + head) * c.HeadDim
		for j, p := range prob {
			addRowTimes(r.out[at:at+c.HeadDim], p, v[j])
		}
		if dout == nil {
			continue
		}
		g := dout[at : at+c.HeadDim]
		mean := scalarProduct(g, r.out[at:at+c.HeadDim])
		for j, p := range prob {
			ds := c.Scale * p * (scalarProduct(g, v[j]) - mean)
			addRowTimes(dv[j], p, g)
			addRowTimes(dq[i], ds, k[j])
			addRowTimes(dk[j], ds, q[i])
		}
	}
	for i := range c.Seq {
		if c.RopeBase != 0 {
			c.turn(dq[i], -float64(i))
			c.turn(dk[i], -float64(i))
		}
		for p, x := range [][]float64{dq[i], dk[i], dv[i]} {
			addRowTimes(r.dqkv[c.at(row, i, p, head):][:c.HeadDim], 1, x)
		}
	}
}

// referenceRow fills the probabilities of query i and returns log sum exp.
func (c attentionCase) referenceRow(prob, q []float64, k [][]float64, row, head, i int) float64 {
	largest := math.Inf(-1)
	for j := range prob {
		if !c.sees(row, i, j) {
			continue
		}
		prob[j] = c.Scale * scalarProduct(q, k[j])
		if c.Slopes != nil {
			prob[j] -= c.Slopes[head] * float64(i-j)
		}
		largest = math.Max(largest, prob[j])
	}
	var sum float64
	for j := range prob {
		if c.sees(row, i, j) {
			sum += math.Exp(prob[j] - largest)
		}
	}
	lse := largest + math.Log(sum)
	for j := range prob {
		if c.sees(row, i, j) {
			prob[j] = math.Exp(prob[j] - lse)
		}
	}
	return lse
}

func zeroRows(n, width int) [][]float64 {
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, width)
	}
	return rows
}

func addRowTimes(dst []float64, s float64, x []float64) {
	for i := range x {
		dst[i] += s * x[i]
	}
}

func scalarProduct(x, y []float64) float64 {
	var sum float64
	for i := range x {
		sum += x[i] * y[i]
	}
	return sum
}

// worstError returns the largest difference between got and want, as a fraction of the largest
// |want|; NaN counts as infinite.
func worstError[T Float](got []T, want []float64) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	var scale, worst float64
	for i, w := range want {
		scale = math.Max(scale, math.Abs(w))
		diff := math.Abs(float64(got[i]) - w)
		if math.IsNaN(diff) {
			return math.Inf(1)
		}
		worst = math.Max(worst, diff)
	}
	if worst == 0 {
		return 0
	}
	return worst / scale
}
