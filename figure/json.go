package figure

import (
	"encoding/json"
	"math"
	"strconv"
)

// Numbers are written to JSON with null for values that are not finite; null is read as NaN.
type Numbers []float64

// Matrix is rows of Numbers.
type Matrix [][]float64

// MarshalJSON writes null for values that are not finite.
func (f Numbers) MarshalJSON() ([]byte, error) {
	if f == nil {
		return []byte("null"), nil
	}
	b := []byte{'['}
	for i, v := range f {
		if i > 0 {
			b = append(b, ',')
		}
		if finite(v) {
			b = strconv.AppendFloat(b, v, 'g', -1, 64)
		} else {
			b = append(b, "null"...)
		}
	}
	return append(b, ']'), nil
}

// UnmarshalJSON reads null as NaN.
func (f *Numbers) UnmarshalJSON(text []byte) error {
	var values []*float64
	if err := json.Unmarshal(text, &values); err != nil {
		return err
	}
	*f = nil
	for _, v := range values {
		if v == nil {
			*f = append(*f, math.NaN())
		} else {
			*f = append(*f, *v)
		}
	}
	return nil
}

// MarshalJSON writes null for values that are not finite.
func (m Matrix) MarshalJSON() ([]byte, error) {
	var rows []Numbers
	for _, row := range m {
		rows = append(rows, row)
	}
	return json.Marshal(rows)
}

// UnmarshalJSON reads null as NaN.
func (m *Matrix) UnmarshalJSON(text []byte) error {
	var rows []Numbers
	if err := json.Unmarshal(text, &rows); err != nil {
		return err
	}
	*m = nil
	for _, row := range rows {
		*m = append(*m, row)
	}
	return nil
}

// finite tells whether a value can be shown.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

type plainEdge WiringEdge

type edgeJSON struct {
	plainEdge
	Weight *float64 `json:"weight"`
}

// MarshalJSON writes the edge, with null for a weight that is not finite.
func (e WiringEdge) MarshalJSON() ([]byte, error) {
	written := edgeJSON{plainEdge: plainEdge(e)}
	if finite(e.Weight) {
		written.Weight = &e.Weight
	}
	return json.Marshal(written)
}

// UnmarshalJSON reads an edge, with null as NaN.
func (e *WiringEdge) UnmarshalJSON(text []byte) error {
	var read edgeJSON
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	*e = WiringEdge(read.plainEdge)
	e.Weight = math.NaN()
	if read.Weight != nil {
		e.Weight = *read.Weight
	}
	return nil
}
