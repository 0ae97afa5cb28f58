package kernel

import "math"

// AttentionStage is a step of causal attention by itself.
type AttentionStage int

// The stages; AttentionPattern is the last two, after the first where there are rotary positions.
const (
	StageRotate  AttentionStage = iota // qkv -> qkv with rotated queries and keys
	StageScores                        // qkv -> scores [batch*seq, heads, seq]: Scale q_i.k_j - Slopes[h] (i-j) for the keys j that query i sees, else -Inf
	StageSoftmax                       // scores -> probabilities, of the keys that query i sees
)

// AttentionStages computes the stages. The fields of its zero value are ready to use.
type AttentionStages[T Float] struct {
	AttentionPattern[T]
	stage AttentionStage
	x, dx []T // of a stage of rows; dx nil unless Backward runs
}

// Forward computes a stage of x.
func (a *AttentionStages[T]) Forward(p *Pool, stage AttentionStage, out, x []T, starts []int32, d AttentionParams) {
	defer a.release()
	a.stage, a.x, a.dx = stage, x, nil
	a.d, a.starts, a.qkv, a.prob, a.raw = d, starts, x, out, stage == StageScores
	a.plan(p)
	if a.raw {
		p.Do(d.Batch*d.Heads, (*patternPairs[T])(&a.AttentionPattern))
		return
	}
	p.Do(d.Batch*d.Seq, (*stageRows[T])(a))
}

// Backward computes the gradient dx of a stage from that of its result y.
func (a *AttentionStages[T]) Backward(p *Pool, stage AttentionStage, dx, x, y, dy []T, starts []int32, d AttentionParams) {
	defer a.release()
	a.stage, a.x, a.dx = stage, x, dx
	a.d, a.starts, a.qkv, a.prob, a.dprob, a.raw = d, starts, x, y, dy, stage == StageScores
	if a.raw {
		a.dqkv = dx
	}
	a.plan(p)
	if a.raw {
		p.Do(d.groups(), (*patternGradGroups[T])(&a.AttentionPattern))
		return
	}
	p.Do(d.Batch*d.Seq, (*stageRows[T])(a))
}

// stageRows gives every worker whole tokens.
type stageRows[T Float] AttentionStages[T]

func (t *stageRows[T]) Part(_, lo, hi int) {
	a := (*AttentionStages[T])(t)
	for token := lo; token < hi; token++ {
		row, i := token/a.d.Seq, token%a.d.Seq
		if a.stage == StageRotate {
			a.rotateToken(token, i)
			continue
		}
		for head := range a.d.Heads {
			probs, s := a.row(a.prob, row, head, i), a.sight(row, i)
			if a.dx != nil {
				a.gradientRow(a.row(a.dx, row, head, i), probs, a.row(a.dprob, row, head, i), s, i)
				continue
			}
			copy(probs, a.row(a.x, row, head, i))
			a.softmaxRow(probs, s, i, 0)
		}
	}
}

// rotateToken rotates the queries and keys of a token or, in Backward, their gradients back.
func (a *AttentionStages[T]) rotateToken(token, i int) {
	from, to, width := a.x, a.prob, a.d.packedWidth()
	if a.dx != nil {
		from, to = a.dprob, a.dx
	}
	from, to = from[token*width:][:width], to[token*width:][:width]
	copy(to, from)
	for at := 0; at < (a.d.Heads+a.d.kvHeads())*a.d.HeadDim; at += a.d.HeadDim {
		if head := to[at:][:a.d.HeadDim]; a.dx != nil {
			a.rope.rotateBack(head, i)
		} else {
			a.rope.rotate(head, head, i)
		}
	}
}

// biasRow adds the bias of distances to the scores of query i, and -Inf where it sees nothing.
func biasRow[T Float](scores []T, s attentionSight, i int, slope float64) {
	for j := range scores {
		if j > i || j < s.start || j >= s.sinks && j < s.first {
			scores[j] = T(math.Inf(-1))
		} else {
			scores[j] -= T(slope * float64(i-j))
		}
	}
}
