package linear

import "gonum.org/v1/gonum/floats"

// Over is a linear step over tokens: what it gives for a token depends on that token's entries and
// on those of earlier tokens.
type Over interface {
	// Apply returns y_t [size]. row returns x_(t-lag) [size], for lags of 0 to seen, the number of
	// earlier tokens that token t sees; it may return the same memory each time.
	Apply(row func(lag int) []float64, seen int) []float64
	// Own returns the part of y_t that depends on x_t.
	Own() Map
}

// Convolution is a causal convolution over tokens that is added to them, entry by entry:
//
//	y_t = x_t + sum over lags j of Filter[taps-1-j] ⊙ x_(t-j)
type Convolution struct {
	Filter []float64 // [taps, Size]
	Size   int
}

// tap returns the filter's entries for a lag.
func (c Convolution) tap(lag int) []float64 {
	return c.Filter[len(c.Filter)-(lag+1)*c.Size:][:c.Size]
}

// Apply returns y_t.
func (c Convolution) Apply(row func(lag int) []float64, seen int) []float64 {
	y, term := make([]float64, c.Size), make([]float64, c.Size)
	for lag := 0; lag <= seen && (lag+1)*c.Size <= len(c.Filter); lag++ {
		x := row(lag)
		if lag == 0 {
			copy(y, x)
		}
		floats.Add(y, floats.MulTo(term, c.tap(lag), x))
	}
	return y
}

// Own multiplies each entry by 1 plus its filter's last tap.
func (c Convolution) Own() Map {
	factors := append([]float64(nil), c.tap(0)...)
	floats.AddConst(1, factors)
	return Scale{Factors: factors, Size: c.Size}
}
