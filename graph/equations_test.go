package graph

import "math"

// This file holds the ops' equations as plain loops over float64, written from the doc
// comments: what opCases compares results with.

func wantEmbedding(table []float64, ids []int32, width int, scale float64) []float64 {
	var y []float64
	for _, id := range ids {
		y = append(y, wantScale(table[int(id)*width:][:width], scale)...)
	}
	return y
}

func wantScale(x []float64, factor float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = factor * v
	}
	return y
}

// wantLinear takes x, w and optionally a bias; w has rows x columns entries.
func wantLinear(in [][]float64, rows, columns int, o LinearOptions) []float64 {
	x, w := in[0], in[1]
	inputs, outputs := rows, columns
	if o.Transposed {
		inputs, outputs = columns, rows
	}
	scale := o.Scale
	if scale == 0 {
		scale = 1
	}
	var y []float64
	for t := 0; t < len(x); t += inputs {
		for j := range outputs {
			sum := 0.0
			for i := range inputs {
				entry := i*outputs + j
				if o.Transposed {
					entry = j*inputs + i
				}
				sum += x[t+i] * w[entry]
			}
			sum *= scale
			if len(in) > 2 {
				sum += in[2][j]
			}
			y = append(y, sum)
		}
	}
	return y
}

func wantBias(in [][]float64, _ [][]int32) []float64 {
	y := make([]float64, len(in[0]))
	for i, v := range in[0] {
		y[i] = v + in[1][i%len(in[1])]
	}
	return y
}

// wantNorm takes x, gain and optionally a bias.
func wantNorm(in [][]float64, o NormOptions) []float64 {
	x, gain := in[0], in[1]
	eps := o.Eps
	if eps == 0 {
		eps = 1e-6
	}
	y := make([]float64, len(x))
	if o.Groups > 1 {
		group, parts := len(gain)/o.Groups, o
		parts.Groups = 0
		for row := 0; row < len(x); row += group {
			first := row % len(gain)
			part := [][]float64{x[row : row+group], gain[first : first+group]}
			if len(in) > 2 {
				part = append(part, in[2][first:first+group])
			}
			copy(y[row:], wantNorm(part, parts))
		}
		return y
	}
	n := len(gain)
	for row := 0; row < len(x); row += n {
		mean, variance := 0.0, 0.0
		if !o.RMS {
			for _, v := range x[row : row+n] {
				mean += v / float64(n)
			}
		}
		for _, v := range x[row : row+n] {
			variance += (v - mean) * (v - mean) / float64(n)
		}
		for i, v := range x[row : row+n] {
			y[row+i] = (v - mean) / math.Sqrt(variance+eps) * gain[i]
			if len(in) > 2 {
				y[row+i] += in[2][i]
			}
		}
	}
	return y
}

// wantRead: y_t = keys X_t with keys [m, dk] and X_t [dk, dv].
func wantRead(x, keys []float64, dk, dv int) []float64 {
	var y []float64
	for t := 0; t < len(x); t += dk * dv {
		for key := 0; key < len(keys); key += dk {
			for j := range dv {
				sum := 0.0
				for i := range dk {
					sum += keys[key+i] * x[t+i*dv+j]
				}
				y = append(y, sum)
			}
		}
	}
	return y
}

// wantWrite takes keys [m, dk], y [tokens, m, dv] and optionally the stream.
func wantWrite(in [][]float64, dk, tokens int) []float64 {
	keys, y := in[0], in[1]
	m := len(keys) / dk
	dv := len(y) / tokens / m
	x := make([]float64, tokens*dk*dv)
	if len(in) > 2 {
		copy(x, in[2])
	}
	for t := range tokens {
		for key := range m {
			for i := range dk {
				for j := range dv {
					x[(t*dk+i)*dv+j] += keys[key*dk+i] * y[(t*m+key)*dv+j]
				}
			}
		}
	}
	return x
}

func wantGelu(x []float64, exact bool) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		if exact {
			y[i] = 0.5 * v * (1 + math.Erf(v/math.Sqrt2))
		} else {
			y[i] = 0.5 * v * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(v+0.044715*v*v*v)))
		}
	}
	return y
}

func wantAdd(in [][]float64, _ [][]int32) []float64 {
	y := make([]float64, len(in[0]))
	for _, x := range in {
		for i, v := range x {
			y[i] += v
		}
	}
	return y
}

// wantAttention takes qkv [batch*seq, 3, heads, headDim].
func wantAttention(qkv []float64, starts []int32, batch, headDim int, o AttentionOptions) []float64 {
	part := func(which, row, i, head int) []float64 {
		v := qkv[(((row*o.Seq+i)*3+which)*o.Heads+head)*headDim:][:headDim]
		if which < 2 && o.RopeBase != 0 {
			return wantRotation(v, i, o.RopeBase)
		}
		return v
	}
	var out []float64
	for row := range batch {
		for i := range o.Seq {
			first := 0
			if starts != nil {
				first = int(starts[row*o.Seq+i])
			}
			for head := range o.Heads {
				sum, total := make([]float64, headDim), 0.0
				for j := first; j <= i; j++ {
					q, k, v := part(0, row, i, head), part(1, row, j, head), part(2, row, j, head)
					logit := 0.0
					for d := range headDim {
						logit += o.Scale * q[d] * k[d]
					}
					if o.Slopes != nil {
						logit -= o.Slopes[head] * float64(i-j)
					}
					weight := math.Exp(logit)
					total += weight
					for d := range headDim {
						sum[d] += weight * v[d]
					}
				}
				out = append(out, wantScale(sum, 1/total)...)
			}
		}
	}
	return out
}

// wantRotation turns the pairs (d, d + half) of a head by position*base^(-2d/headDim).
func wantRotation(v []float64, position int, base float64) []float64 {
	half := len(v) / 2
	turned := make([]float64, len(v))
	for d := range half {
		angle := float64(position) * math.Pow(base, -2*float64(d)/float64(len(v)))
		sin, cos := math.Sincos(angle)
		turned[d] = v[d]*cos - v[d+half]*sin
		turned[d+half] = v[d+half]*cos + v[d]*sin
	}
	return turned
}

// wantLoss returns the mean loss with its z term, and each token's cross-entropy.
func wantLoss(x, w []float64, targets []int32, features int, o LossOptions) (loss float64, each []float64) {
	vocab := len(w) / features
	rows, columns := features, vocab
	if o.Transposed {
		rows, columns = vocab, features
	}
	logits := wantLinear([][]float64{x, w}, rows, columns, LinearOptions{Transposed: o.Transposed, Scale: o.Scale})
	counted := 0.0
	for t, target := range targets {
		z := 0.0
		for _, l := range logits[t*vocab:][:vocab] {
			z += math.Exp(l)
		}
		if target < 0 {
			each = append(each, 0)
			continue
		}
		each = append(each, math.Log(z)-logits[t*vocab+int(target)])
		loss += each[t] + o.ZLoss*math.Log(z)*math.Log(z)
		counted++
	}
	return loss / counted, each
}

// wantStarts: a document begins at a BOS that does not follow a BOS.
func wantStarts(tokens []int32, seq int, bos int32) []float64 {
	var starts []float64
	start := 0
	for i, id := range tokens {
		if i%seq == 0 {
			start = 0
		}
		if id == bos && (i%seq == 0 || tokens[i-1] != bos) {
			start = i % seq
		}
		starts = append(starts, float64(start))
	}
	return starts
}
