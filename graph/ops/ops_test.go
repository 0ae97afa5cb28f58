package ops_test

import (
	"slices"
	"testing"

	"github.com/residua-go/residua/graph/optest"
)

// family is a package of ops with its cases. Package attention has its own tests.
type family struct {
	name  string
	cases []optest.Case
	cpu   []optest.Case // more cases, of ops that no device has
	// primitives are names of Primitives' types or of formulas that must occur in the cases'
	// graphs.
	primitives []string
	flops      map[string]int // the matrix products of some of the cases
}

func families() []family {
	return []family{
		{
			name:       "delta",
			cases:      slices.Concat(deltaWriteCases(), deltaReadCases(), convolveCases()),
			primitives: []string{"write", "writeGrad", "read", "readGrad", "secondaryOutput"},
			flops: map[string]int{
				"DeltaWrite/[3 2 5]":                          4 * 3 * 2 * 5,
				"DeltaRead/[6 2 5] taps=4 seq=6 masked=false": 4 * 2 * 6 * 2 * 5,
				"DeltaRead/[3 2 5] taps=0 seq=3 masked=false": 2 * 3 * 2 * 5,
			},
		},
		{
			name:  "elementwise",
			cases: slices.Concat(elementwiseCases(), gateCases(), hadamardCases(), weightedSumCases(), multiwaySumCases(), []optest.Case{productCase()}),
			cpu:   sparseCases(),
			primitives: []string{
				"activationGrad", "topK", "WherePositive", "GradX of WherePositive", "GradX of Scale", "detach", "GradX of Multiply", "GradY of Multiply",
				"GradX of Sigmoid", "gluGrad", "GradX of SoftCap", "GradGate of SwiGLU", "GradValue of SwiGLU", "LSTMCell's hidden", "GradState of LSTMCell",
				"GradCell of LSTMCell's hidden", "GradOutputGate of LSTMCell's hidden", "GradCandidate of LSTMCell",
			},
			flops: map[string]int{
				"Gelu/exact=true [3 5]": 0,
			},
		},
		{
			name:       "embedding",
			cases:      embeddingCases(),
			primitives: []string{"embeddingGrad"},
			flops: map[string]int{
				"Embedding/vectors": 0,
			},
		},
		{
			name:  "linear",
			cases: slices.Concat(linearCases(), linearActivatedCases(), swiGLUCases(), linearPartsCases()),
			primitives: []string{
				"linearGradX", "linearGradW", "linearActivated", "activated", "linearGradActivated", "sumTokens", "gateProduct", "valueProduct", "gatedValue",
				"linearGradSwiGLU", "gateGrad", "SwiGLUGradient", "SwiGLUGradient's dvalue", "partsGradX", "partsGradW",
			},
			flops: map[string]int{
				"Linear/plain":      2 * 3 * 5 * 2,
				"Linear/transposed": 2 * 3 * 10 * 7,
				"Linear/rows":       2 * 3 * 10 * 7,
				"LinearGelu/both":   2 * 7 * 5 * 3,
				"MapSwiGLU/alone":   2 * 2 * 7 * 5 * 3,
			},
		},
		{
			name:       "loss",
			cases:      lossCases(),
			cpu:        squaredErrorCases(),
			primitives: []string{"secondaryOutput", "squaredErrorGrad"},
			flops: map[string]int{
				"CrossEntropy/transposed":      2 * 5 * 6 * 7,
				"TokenLosses/transposed=false": 2 * 7 * 3 * 5,
			},
		},
		{
			name:       "mix",
			cases:      slices.Concat(mixCases(), mixNextCases(), coefficientCases(), gatedCases(), depthCases(), depthHeadCases()),
			primitives: []string{"mixReadGrad", "mixWriteGrad", "mixUpGrad", "mixReadGradC", "nextRead", "nextProjection", "gatedReadGrad", "depthGrad"},
		},
		{
			name:  "moe",
			cases: slices.Concat(moeCases(), moeTermsCases()),
		},
		{
			name:       "norm",
			cases:      slices.Concat(normCases(), normLinearCases(), matchSizeCases()),
			primitives: []string{"normGrad", "normLinearGrad", "matchSizeGrad"},
		},
		{
			name:       "readwrite",
			cases:      slices.Concat(streamCases(), normReadCases(), tokenKeysCases()),
			primitives: []string{"normReadGrad", "keysGrad", "writeGrad", "writeEachGradY", "tokenKeysGrad"},
			flops: map[string]int{
				"Read/[2 7 3] [3 2 7]":                                   2 * 2 * 6 * 7 * 3,
				"Write/[3 5 7] [2 5] [3 2 7]":                            2 * 3 * 2 * 5 * 7,
				"NormRead/LayerNorm(eps=1e-06) bias=false [3 5 7] [2 5]": 2 * 3 * 2 * 5 * 7,
				"ReadEach/[3 5 7] [3 5 2]":                               2 * 3 * 2 * 5 * 7,
				"WriteEach/[3 5 7] [3 5 2]":                              2 * 3 * 2 * 5 * 7,
			},
		},
		{
			name:       "shape",
			cases:      slices.Concat(reshapeCases(), concatCases(), constantCases(), sliceCases(), copiesCases()),
			primitives: []string{"sliceGrad"},
		},
	}
}

// TestOps checks what holds for every op.
func TestOps(t *testing.T) {
	for _, f := range families() {
		t.Run(f.name, func(t *testing.T) { optest.Run(t, slices.Concat(f.cases, f.cpu), f.primitives...) })
	}
}

// TestForwardFLOPs checks the counted matrix products.
func TestForwardFLOPs(t *testing.T) {
	for _, f := range families() {
		if len(f.flops) > 0 {
			t.Run(f.name, func(t *testing.T) { optest.ForwardFLOPs(t, f.cases, f.flops) })
		}
	}
}
