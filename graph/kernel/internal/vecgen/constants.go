package main

import (
	"fmt"
	"math"
	"slices"
)

const (
	sqrtPi     = 1.77245385090551602729816748334
	geluLinear = -2 * math.Sqrt2 / sqrtPi // -2u = x (geluLinear + geluCubic x^2)
	geluCubic  = 0.044715 * geluLinear
	log2eHigh  = 0x1.715476p+0 // math.Log2E as a float32
)

// doubles and singles map names to the constants that routines use in lanes of float64 and float32.
// exp2c is a polynomial for 2^f on |f| <= 1/2: of those of degree 7, the one with the smallest
// largest relative error (Remez), 4e-11; this grows to 8e-11 by replacing its constant term,
// 0.99999999996, by 1. exp2s is the same for degree 6, 2e-9.
var doubles = map[string]float64{
	"one":          1,
	"log2e":        math.Log2E,
	"minusLog2e":   -math.Log2E,
	"exp2round":    0x1.8p52,
	"exp2c1":       0.693147180728444573,
	"exp2c2":       0.240226511981578894,
	"exp2c3":       0.055504103534569235,
	"exp2c4":       0.00961802725364381069,
	"exp2c5":       0.00133339225562943514,
	"exp2c6":       0.000154692911488946333,
	"exp2c7":       0.0000152019232278869171,
	"geluLow":      -15,
	"geluHigh":     15,
	"geluLeast":    -400,
	"geluA":        geluLinear * math.Log2E,
	"geluB":        geluCubic * math.Log2E,
	"geluSlope":    geluLinear,
	"geluSlope2":   3 * geluCubic,
	"signBit":      math.Copysign(0, -1),
	"half":         0.5,
	"bellExponent": -0.5 * math.Log2E,
	"bellScale":    1 / (math.Sqrt2 * sqrtPi),
	"tailStep":     0.3,
	"tail0":        0.119686716826,
	"tail1":        0.119571314337,
	"tail2":        0.110239374731,
	"tail3":        0.0783720870083,
	"tail4":        0.0962053301428,
	"tail5":        -0.0795099466202,
	"tail6":        0.191884259291,
	"tail7":        -0.228285531336,
	"tail8":        0.112465115351,
	"tail9":        -0.0206287214638,
	"expLow":       -104,
	"expHigh":      89,
	"sigmoidLow":   -104,
	"sigmoidHigh":  104,
	"tanhLow":      -60,
	"tanhHigh":     60,
	"two":          2,
	"twoLog2e":     2 * math.Log2E,
}

var singles = map[string]float64{
	"gateLow":      -87,
	"gateHigh":     87,
	"expSingleLow": -88,
	"expSingleTop": 89,
	"log2eHigh":    log2eHigh,
	"log2eLow":     math.Log2E - log2eHigh,
	"exp2bias":     0x1.8p23 + 127,
	"oneSingle":    1,
	"exp2s1":       0.6931472057372676,
	"exp2s2":       0.24022646890634652,
	"exp2s3":       0.055503287769653374,
	"exp2s4":       0.009618488957075231,
	"exp2s5":       0.0013399931219193481,
	"exp2s6":       0.00015345812011544304,
	"sinkhornLow":  -80,
	"minusInf":     math.Inf(-1),
	"huge":         0x1p127,
}

// constant returns a constant by name: one value for all lanes, or one for each lane, as count has.
func (b *builder) constant(name string) (k kind, values []float64) {
	if value, ok := doubles[name]; ok {
		return double, []float64{value}
	}
	switch value, ok := singles[name]; {
	case ok:
		values = []float64{value}
	case name == "lanesSingle":
		values = []float64{float64(b.Lanes)}
	case name == "count":
		for i := range b.Lanes {
			values = append(values, float64(i))
		}
	default:
		panic("unknown constant " + name)
	}
	return single, values
}

// emitConstants writes the named constants into the file's read-only data. AVX2 reads
// them as whole vectors.
func emitConstants(b *builder, names []string) {
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		k, values := b.constant(name)
		if !b.Masks && len(values) == 1 {
			values = slices.Repeat(values, b.Size()/k.size)
		}
		words := make([]string, len(values))
		for i, v := range values {
			words[i] = fmt.Sprintf("%#016x", math.Float64bits(v))
			if k == single {
				words[i] = fmt.Sprintf("%#08x", math.Float32bits(float32(v)))
			}
		}
		b.Table(name, k.size, words)
	}
}
