package lines

import (
	"bytes"
	"encoding/xml"
	"io"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPictureHasEveryName(t *testing.T) {
	c := Picture{X: Axis{Label: "width", Log: true, Ticks: []float64{1, 4}}, Y: Axis{Label: "size", Log: true}, Marks: true, Panels: []Panel{
		{Title: "left", Series: []Series{{"one", []Point{{1, 0.5}, {4, 70}}}, {"none", []Point{{1, math.NaN()}, {2, 0}}}}},
		{Title: "right", Series: []Series{{"one", []Point{{1, 3}, {4, 2}}}}},
	}}
	requireDrawn(t, c)
	c.Across = 1
	requireDrawn(t, c)
}

func requireDrawn(t *testing.T, c Picture) {
	t.Helper()
	var picture bytes.Buffer
	require.NoError(t, c.Write(&picture))
	text := picture.String()
	for _, want := range []string{"<svg", "width", "size", "left", "right", ">one<", ">none<", ">4<", ">10<"} {
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

func TestPictureOfOnePointAndManySeries(t *testing.T) {
	var series []Series
	for i := range len(palette) + 1 {
		series = append(series, Series{Name: string(rune('a' + i)), Points: []Point{{1, 2}}})
	}
	var picture bytes.Buffer
	require.NoError(t, Picture{Panels: []Panel{{Series: series}}}.Write(&picture))
	assert.NotContains(t, picture.String(), "NaN")
	assert.Contains(t, picture.String(), "stroke-dasharray")
}

func TestPictureRefuses(t *testing.T) {
	assert.ErrorContains(t, Picture{}.Write(io.Discard), "want at least one panel")
	empty := Picture{Y: Axis{Log: true}, Panels: []Panel{{Series: []Series{{"a", []Point{{1, -1}}}}}}}
	assert.ErrorContains(t, empty.Write(io.Discard), "want at least one point")
}

func TestLogTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      []string
	}{
		{0.5, 200, []string{"1", "10", "100"}},
		{0.9, 11, []string{"1", "3", "10"}},
		{1.4, 3.5, []string{"1.5", "2", "3"}},
		{1e-8, 1e8, []string{"1e-06", "0.001", "1", "1000", "1e+06"}},
	} {
		var got []string
		for _, tick := range logTicks(c.low, c.high) {
			got = append(got, tick.Label)
		}
		assert.Equal(t, c.want, got)
	}
	assert.NotEmpty(t, logTicks(1.01, 1.02))
}
