package main

import (
	"fmt"
	"math"
	"slices"
)

// constant is a number for all lanes of a vector, or a separate one for each lane.
type constant struct {
	kind   kind
	values []float64
}

func all(value float64) constant       { return constant{double, []float64{value}} }
func allSingle(value float64) constant { return constant{single, []float64{value}} }

// counting returns 0, 1, 2, ... for the lanes of the longest vector.
func counting(k kind) constant {
	c := constant{kind: k}
	for i := range 64 / k.size {
		c.values = append(c.values, float64(i))
	}
	return c
}

const (
	sqrtPi     = 1.77245385090551602729816748334
	geluLinear = -2 * math.Sqrt2 / sqrtPi // -2u = x (geluLinear + geluCubic x^2)
	geluCubic  = 0.044715 * geluLinear
	log2eHigh  = 0x1.715476p+0 // math.Log2E as a float32
)

// constants maps names to the constants that routines use. exp2c is a polynomial for 2^f on |f| <=
// 1/2: of those of degree 7, the one with the smallest largest relative error (Remez), 4e-11; this
// grows to 8e-11 by replacing its constant term, 0.99999999996, by 1. exp2s is the same for degree
// 6, 2e-9.
var constants = map[string]constant{
	"one":          all(1),
	"log2e":        all(math.Log2E),
	"minusLog2e":   all(-math.Log2E),
	"exp2round":    all(0x1.8p52),
	"exp2c1":       all(0.693147180728444573),
	"exp2c2":       all(0.240226511981578894),
	"exp2c3":       all(0.055504103534569235),
	"exp2c4":       all(0.00961802725364381069),
	"exp2c5":       all(0.00133339225562943514),
	"exp2c6":       all(0.000154692911488946333),
	"exp2c7":       all(0.0000152019232278869171),
	"geluLow":      all(-15),
	"geluHigh":     all(15),
	"geluLeast":    all(-400),
	"geluA":        all(geluLinear * math.Log2E),
	"geluB":        all(geluCubic * math.Log2E),
	"geluSlope":    all(geluLinear),
	"geluSlope2":   all(3 * geluCubic),
	"signBit":      all(math.Copysign(0, -1)),
	"half":         all(0.5),
	"bellExponent": all(-0.5 * math.Log2E),
	"bellScale":    all(1 / (math.Sqrt2 * sqrtPi)),
	"tailStep":     all(0.3),
	"tail0":        all(0.119686716826),
	"tail1":        all(0.119571314337),
	"tail2":        all(0.110239374731),
	"tail3":        all(0.0783720870083),
	"tail4":        all(0.0962053301428),
	"tail5":        all(-0.0795099466202),
	"tail6":        all(0.191884259291),
	"tail7":        all(-0.228285531336),
	"tail8":        all(0.112465115351),
	"tail9":        all(-0.0206287214638),
	"expLow":       all(-104),
	"expHigh":      all(89),
	"sigmoidLow":   all(-104),
	"sigmoidHigh":  all(104),
	"gateLow":      allSingle(-87),
	"gateHigh":     allSingle(87),
	"expSingleLow": allSingle(-88),
	"expSingleTop": allSingle(89),
	"log2eHigh":    allSingle(log2eHigh),
	"log2eLow":     allSingle(math.Log2E - log2eHigh),
	"exp2bias":     allSingle(0x1.8p23 + 127),
	"oneSingle":    allSingle(1),
	"exp2s1":       allSingle(0.6931472057372676),
	"exp2s2":       allSingle(0.24022646890634652),
	"exp2s3":       allSingle(0.055503287769653374),
	"exp2s4":       allSingle(0.009618488957075231),
	"exp2s5":       allSingle(0.0013399931219193481),
	"exp2s6":       allSingle(0.00015345812011544304),
	"sinkhornLow":  allSingle(-80),
	"tanhLow":      all(-60),
	"tanhHigh":     all(60),
	"two":          all(2),
	"minusInf":     allSingle(math.Inf(-1)),
	"huge":         allSingle(0x1p127),
	"count":        counting(single),
}

// emitConstants writes the named constants into the file's read-only data. AVX2 reads
// them as whole vectors.
func emitConstants(b *builder, names []string) {
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		c := b.constant(name)
		values := c.values
		for !b.Masks && len(values)*c.kind.size < 4*b.Lanes {
			values = append(values, values...)
		}
		if len(values) > 1 {
			values = values[:4*b.Lanes/c.kind.size]
		}
		words := make([]string, len(values))
		for i, v := range values {
			words[i] = fmt.Sprintf("%#016x", math.Float64bits(v))
			if c.kind == single {
				words[i] = fmt.Sprintf("%#08x", math.Float32bits(float32(v)))
			}
		}
		b.Table(name, c.kind.size, words)
	}
}

// constant returns a constant by name: one of the list, or the number of lanes.
func (b *builder) constant(name string) constant {
	if name == "lanesSingle" {
		return allSingle(float64(b.Lanes))
	}
	return constants[name]
}
