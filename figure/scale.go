package figure

import "math"

// scale is an axis of numbers: what is at its ends, and its length in px.
type scale struct {
	low, high float64
	log       bool
	length    float64
	numbers   []float64 // where the numbers stand; nil: chosen
}

// holds says whether a value has a place.
func (s scale) holds(v float64) bool { return finite(v) && (v > 0 || !s.log) }

// at is a value's place in px from the low end.
func (s scale) at(v float64) float64 {
	if s.log {
		return s.length * (math.Log(v) - math.Log(s.low)) / (math.Log(s.high) - math.Log(s.low))
	}
	return s.length * ((v/2 - s.low/2) / (s.high/2 - s.low/2))
}

// widened is the scale with a little room at both ends, much around a single value.
func (s scale) widened() scale {
	const room = 0.03
	if s.log {
		factor := max(math.Exp(room*(math.Log(s.high)-math.Log(s.low))), 1.02)
		s.low, s.high = max(s.low/factor, math.SmallestNonzeroFloat64), min(s.high*factor, math.MaxFloat64)
		return s
	}
	if s.low == s.high {
		half := max(math.Abs(s.high)/2, 1e-9)
		s.low, s.high = max(s.low-half, -math.MaxFloat64), min(s.high+half, math.MaxFloat64)
		return s
	}
	gap := max(room*(s.high/2-s.low/2)*2, 1e-3*max(math.Abs(s.high), math.Abs(s.low), 1e-9))
	s.low, s.high = max(s.low-gap, -math.MaxFloat64), min(s.high+gap, math.MaxFloat64)
	return s
}

func (s scale) ticks(about int) []tick {
	if s.numbers != nil {
		return s.given()
	}
	if s.log {
		return logTicks(s.low, s.high, about)
	}
	return ticks(s.low, s.high, about)
}

// given are the axis' own numbers, as far as they are on it.
func (s scale) given() []tick {
	var at []tick
	for _, v := range s.numbers {
		if s.holds(v) && v >= s.low && v <= s.high {
			at = append(at, tick{v, number(v)})
		}
	}
	return at
}

// paintBelow draws grid lines over a height and the numbers below them.
func (s scale) paintBelow(p painter, height float64) {
	for _, t := range s.ticks(7) {
		x := s.at(t.value)
		p.line([][2]float64{{x, 0}, {x, height}}, faint, 1)
		p.line([][2]float64{{x, height}, {x, height + tickLength}}, outline, 1)
		p.text(x, height+tickLength+tickGap+tickSize/2-2, t.label, textStyle{align: 0.5})
	}
	p.line([][2]float64{{0, height}, {s.length, height}}, outline, 1)
}

// paintNames draws grid lines over a height and names below them, of 0, 1, 2, ...
func (s scale) paintNames(p painter, height float64, names axis) {
	for i := 0; i < len(names.labels); i += names.every {
		x := s.at(float64(i))
		p.line([][2]float64{{x, 0}, {x, height}}, faint, 1)
	}
	names.paintColumns(p.moved(s.at(0)-names.step/2, height))
	p.line([][2]float64{{0, height}, {s.length, height}}, outline, 1)
}

// paintLeft draws grid lines over a width and the numbers left of them.
func (s scale) paintLeft(p painter, width float64) {
	for _, t := range s.ticks(7) {
		y := s.length - s.at(t.value)
		p.line([][2]float64{{0, y}, {width, y}}, faint, 1)
		p.line([][2]float64{{-tickLength, y}, {0, y}}, outline, 1)
		p.text(-tickGap-tickLength+2, y, t.label, textStyle{align: 1})
	}
	p.line([][2]float64{{0, 0}, {0, s.length}}, outline, 1)
}
