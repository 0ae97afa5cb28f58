package optest

import (
	"math"

	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/ops/norm"
)

func WantScale(x []float64, factor float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = factor * v
	}
	return y
}

// WantLinear computes linear.Map by plain loops. in holds x, w [rows, columns] and optionally
// a bias.
func WantLinear(in [][]float64, rows, columns int, o linear.Options) []float64 {
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

// WantNorm computes norm.Apply by plain loops. in holds x, the gain and optionally a bias.
func WantNorm(in [][]float64, o norm.Options) []float64 {
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
			copy(y[row:], WantNorm(part, parts))
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

func WantGelu(x []float64, exact bool) []float64 {
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

func WantSwiGLU(gate, value []float64) []float64 {
	y := make([]float64, len(gate))
	for i, v := range gate {
		y[i] = v / (1 + math.Exp(-v)) * value[i]
	}
	return y
}

func WantAdd(in [][]float64, _ [][]int32) []float64 {
	y := make([]float64, len(in[0]))
	for _, x := range in {
		for i, v := range x {
			y[i] += v
		}
	}
	return y
}

func WantConcat(in [][]float64, tokens int) []float64 {
	var y []float64
	for t := range tokens {
		for _, x := range in {
			n := len(x) / tokens
			y = append(y, x[t*n:][:n]...)
		}
	}
	return y
}

// WantSoftCap computes c tanh(x/c); if c is 0, it returns x itself.
func WantSoftCap(x []float64, c float64) []float64 {
	if c == 0 {
		return x
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = c * math.Tanh(v/c)
	}
	return y
}

// WantLoss returns the mean loss with its z term, and each token's cross-entropy.
func WantLoss(x, w []float64, targets []int32, features int, transposed bool, scale, softCap, zLoss float64) (loss float64, each []float64) {
	vocab := len(w) / features
	rows, columns := features, vocab
	if transposed {
		rows, columns = vocab, features
	}
	logits := WantSoftCap(WantLinear([][]float64{x, w}, rows, columns, linear.Options{Transposed: transposed, Scale: scale}), softCap)
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
		loss += each[t] + zLoss*math.Log(z)*math.Log(z)
		counted++
	}
	return loss / counted, each
}
