package figure

import (
	"encoding/json"
	"math"
	"strconv"
)

// Numbers are null in JSON where they are not finite; null is read as NaN.
type Numbers []float64

// Matrix is rows of Numbers.
type Matrix [][]float64

// MarshalJSON writes null for what is not finite.
func (f Numbers) MarshalJSON() ([]byte, error) { return appendFloats(nil, f), nil }

func appendFloats(b []byte, f []float64) []byte {
	if f == nil {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i, v := range f {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendFloat(b, v)
	}
	return append(b, ']')
}

func appendFloat(b []byte, v float64) []byte {
	if !finite(v) {
		return append(b, "null"...)
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}

// UnmarshalJSON reads null as NaN.
func (f *Numbers) UnmarshalJSON(text []byte) error {
	var values []*float64
	if err := json.Unmarshal(text, &values); err != nil {
		return err
	}
	*f = nil
	if values != nil {
		*f = make(Numbers, len(values))
	}
	for i, v := range values {
		(*f)[i] = math.NaN()
		if v != nil {
			(*f)[i] = *v
		}
	}
	return nil
}

// MarshalJSON writes null for what is not finite.
func (m Matrix) MarshalJSON() ([]byte, error) {
	if m == nil {
		return []byte("null"), nil
	}
	b := []byte{'['}
	for i, row := range m {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendFloats(b, row)
	}
	return append(b, ']'), nil
}

// UnmarshalJSON reads null as NaN.
func (m *Matrix) UnmarshalJSON(text []byte) error {
	var rows []Numbers
	if err := json.Unmarshal(text, &rows); err != nil {
		return err
	}
	*m = nil
	if rows != nil {
		*m = make(Matrix, len(rows))
	}
	for i, row := range rows {
		(*m)[i] = row
	}
	return nil
}

// finite says whether a value can be shown.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

type plainEdge WiringEdge

type edgeJSON struct {
	plainEdge
	Weight *float64 `json:"weight"`
}

// MarshalJSON writes the edge, null for a weight that is not finite.
func (e WiringEdge) MarshalJSON() ([]byte, error) {
	written := edgeJSON{plainEdge: plainEdge(e)}
	if finite(e.Weight) {
		written.Weight = &e.Weight
	}
	return json.Marshal(written)
}

// UnmarshalJSON reads an edge, null as NaN.
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
