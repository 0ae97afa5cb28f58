package figure

import (
	"encoding/json"
	"math"
	"strconv"
)

// floats is numbers as JSON, null where one is not finite.
type floats []float64

// matrix is rows of numbers as JSON.
type matrix [][]float64

// MarshalJSON writes null for what is not finite.
func (f floats) MarshalJSON() ([]byte, error) { return appendFloats(nil, f), nil }

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
func (f *floats) UnmarshalJSON(text []byte) error {
	var values []*float64
	if err := json.Unmarshal(text, &values); err != nil {
		return err
	}
	*f = nil
	if values != nil {
		*f = make(floats, len(values))
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
func (m matrix) MarshalJSON() ([]byte, error) {
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
func (m *matrix) UnmarshalJSON(text []byte) error {
	var rows []floats
	if err := json.Unmarshal(text, &rows); err != nil {
		return err
	}
	*m = nil
	if rows != nil {
		*m = make(matrix, len(rows))
	}
	for i, row := range rows {
		(*m)[i] = row
	}
	return nil
}

// finite says whether a value can be shown.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// The figures' own encodings: the outer field takes the place of the embedded one of its name.

type plainHeatmap Heatmap

type heatmapJSON struct {
	plainHeatmap
	Values matrix `json:"values"`
}

// MarshalJSON writes the heatmap, null for what is not finite.
func (h Heatmap) MarshalJSON() ([]byte, error) {
	return json.Marshal(heatmapJSON{plainHeatmap(h), h.Values})
}

// UnmarshalJSON reads a heatmap, null as NaN.
func (h *Heatmap) UnmarshalJSON(text []byte) error {
	var read heatmapJSON
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	*h = Heatmap(read.plainHeatmap)
	h.Values = read.Values
	return nil
}

type plainSeries Series

type seriesJSON struct {
	plainSeries
	X     floats `json:"x"`
	Y     floats `json:"y"`
	Raw   floats `json:"raw,omitempty"`
	Error floats `json:"error"`
}

// MarshalJSON writes the series, null for what is not finite.
func (s Series) MarshalJSON() ([]byte, error) {
	return json.Marshal(seriesJSON{plainSeries(s), s.X, s.Y, s.Raw, s.Error})
}

// UnmarshalJSON reads a series, null as NaN.
func (s *Series) UnmarshalJSON(text []byte) error {
	var read seriesJSON
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	*s = Series(read.plainSeries)
	s.X, s.Y, s.Raw, s.Error = read.X, read.Y, read.Raw, read.Error
	return nil
}

type plainBars Bars

type barsJSON struct {
	plainBars
	Values floats `json:"values"`
	Errors floats `json:"errors,omitempty"`
}

// MarshalJSON writes the bars, null for what is not finite.
func (b Bars) MarshalJSON() ([]byte, error) {
	return json.Marshal(barsJSON{plainBars(b), b.Values, b.Errors})
}

// UnmarshalJSON reads bars, null as NaN.
func (b *Bars) UnmarshalJSON(text []byte) error {
	var read barsJSON
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	*b = Bars(read.plainBars)
	b.Values, b.Errors = read.Values, read.Errors
	return nil
}

type plainBarSeries BarSeries

type barSeriesJSON struct {
	plainBarSeries
	Values floats `json:"values"`
}

// MarshalJSON writes the series, null for what is not finite.
func (s BarSeries) MarshalJSON() ([]byte, error) {
	return json.Marshal(barSeriesJSON{plainBarSeries(s), s.Values})
}

// UnmarshalJSON reads a series, null as NaN.
func (s *BarSeries) UnmarshalJSON(text []byte) error {
	var read barSeriesJSON
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	*s = BarSeries(read.plainBarSeries)
	s.Values = read.Values
	return nil
}

type plainAttention Attention

type attentionJSON struct {
	plainAttention
	Patterns []matrix `json:"patterns"`
}

// MarshalJSON writes the patterns, null for what is not finite.
func (a Attention) MarshalJSON() ([]byte, error) {
	written := attentionJSON{plainAttention: plainAttention(a)}
	if a.Patterns != nil {
		written.Patterns = make([]matrix, len(a.Patterns))
	}
	for i, pattern := range a.Patterns {
		written.Patterns[i] = pattern
	}
	return json.Marshal(written)
}

// UnmarshalJSON reads patterns, null as NaN.
func (a *Attention) UnmarshalJSON(text []byte) error {
	var read attentionJSON
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	*a = Attention(read.plainAttention)
	a.Patterns = nil
	if read.Patterns != nil {
		a.Patterns = make([][][]float64, len(read.Patterns))
	}
	for i, pattern := range read.Patterns {
		a.Patterns[i] = pattern
	}
	return nil
}

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
