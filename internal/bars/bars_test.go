package bars

import (
	"bytes"
	"encoding/xml"
	"io"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestChartHasEveryNameAndNumber(t *testing.T) {
	c := Chart{Title: "speed", Axis: "tokens/s", Series: []string{"one", "two"}, Format: "%.1f",
		Rows: []Row{{"first", []float64{12.34, 5}}, {"second", []float64{7, math.NaN()}}}}
	var picture bytes.Buffer
	require.NoError(t, c.Write(&picture))
	text := picture.String()
	for _, want := range []string{"<svg", "speed", "tokens/s", "one", "two", "first", "second", "12.3", "5.0", "7.0"} {
		assert.Contains(t, text, want)
	}
	assert.NotContains(t, text, "NaN")
	for decoder := xml.NewDecoder(&picture); ; {
		if _, err := decoder.Token(); err == io.EOF {
			break
		} else {
			require.NoError(t, err)
		}
	}
}

func TestChartOfZerosIsDrawn(t *testing.T) {
	var picture bytes.Buffer
	require.NoError(t, Chart{Rows: []Row{{"nothing", []float64{0}}}}.Write(&picture))
	assert.NotContains(t, picture.String(), "NaN")
}

func TestChartRefuses(t *testing.T) {
	for want, c := range map[string]Chart{
		`chart "a": want at least one row`:            {Title: "a"},
		`row "r": want 2 values, one a series, got 1`: {Series: []string{"x", "y"}, Rows: []Row{{"r", []float64{1}}}},
		`want at most 4 series, got 5`:                {Series: make([]string, 5), Rows: []Row{{"r", make([]float64, 5)}}},
	} {
		assert.ErrorContains(t, c.Write(io.Discard), want)
	}
}
