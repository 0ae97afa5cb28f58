package figure

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// noisy returns a falling curve with noise, and its values without the noise.
func noisy(n int) (s Series, clean []float64) {
	r := rand.New(rand.NewPCG(5, 6))
	s.Name = "training"
	for i := range n {
		clean = append(clean, 2+3*math.Pow(float64(i+1), -0.5))
		s.X, s.Y = append(s.X, float64(i)), append(s.Y, clean[i]+0.2*r.NormFloat64())
	}
	return s, clean
}

// TestSmoothed: the average follows the curve without its noise from the first value to the last,
// and passes over values that are not finite.
func TestSmoothed(t *testing.T) {
	s, clean := noisy(2000)
	s.Y[900], s.Y[901] = math.NaN(), math.Inf(1)
	for i := 1200; i < 1400; i++ {
		s.Y[i] = math.NaN()
	}
	smooth := s.Smoothed()
	assert.Equal(t, s.Y[0], smooth.Y[0])
	assert.Equal(t, s.Y[1300:1302], smooth.Raw[1300:1302], "raw is what it was")
	for i := 40; i < 2000; i++ {
		if i > 1240 && i < 1360 {
			assert.True(t, math.IsNaN(smooth.Y[i]), "%d: a hole stays one", i)
		} else if i < 1190 || i > 1410 {
			assert.InDelta(t, clean[i], smooth.Y[i], 0.25, i)
		}
	}
	few, _ := noisy(20)
	assert.Equal(t, few, few.Smoothed())
	huge := Series{X: make([]float64, 100), Y: make([]float64, 100)}
	for i := range huge.Y {
		huge.Y[i] = math.MaxFloat64 / 2
	}
	for _, v := range huge.Smoothed().Y {
		assert.False(t, math.IsInf(v, 0))
	}
}

// TestRawIsBelow: raw values are drawn below the line, in a paler colour; an outlier does not
// extend the axis and stays inside the picture.
func TestRawIsBelow(t *testing.T) {
	s, _ := noisy(500)
	s = s.Smoothed()
	s.Raw[300] = 1e6
	svg, err := SVG(Lines{Series: []Series{s}})
	require.NoError(t, err)
	text := string(svg)
	raw, line := strings.Index(text, fmt.Sprintf("\" style=\"fill:none;stroke:%s", hexOf(pale(Color(0))))), strings.Index(text, fmt.Sprintf("\" style=\"fill:none;stroke:%s", hexOf(Color(0))))
	assert.Greater(t, raw, 0)
	assert.Greater(t, line, raw)
	_, y := Lines{Series: []Series{s}}.scales()
	assert.Less(t, y.high, 10.0)
	assert.NotRegexp(t, `[ML][-\d.]+,\d*e\+|[ML][-\d.]+,-`, text)
}

func hexOf(c interface{ RGBA() (r, g, b, a uint32) }) string {
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02X%02X%02X", r>>8, g>>8, b>>8)
}

// TestDarkPicture: every picture has a dark form, and the CSS rule that makes it matches the
// picture.
func TestDarkPicture(t *testing.T) {
	for name, f := range gallery() {
		svg, err := SVG(f)
		require.NoError(t, err)
		assert.Regexp(t, `(?s)^.*<svg width="[\d.]+pt".*<style>.*@media \(prefers-color-scheme:dark\){svg\[width\$=pt\]{filter:invert.*</style>\n<g `, string(svg), name)
	}
}

func TestCount(t *testing.T) {
	for largest, want := range map[float64]string{0: "tokens", 1999: "tokens", 2048: "thousand tokens", 1.9e6: "thousand tokens", 4e6: "million tokens", 3e9: "billion tokens", 1e15: "trillion tokens"} {
		_, name := Count("tokens", largest)
		assert.Equal(t, want, name)
	}
	unit, _ := Count("tokens", 4e6)
	assert.Equal(t, 1e6, unit)
}

func TestDrawable(t *testing.T) {
	assert.False(t, Lines{Series: []Series{{X: []float64{1}, Y: []float64{math.NaN()}}}}.Drawable())
	assert.False(t, Lines{LogY: true, Series: []Series{{X: []float64{1}, Y: []float64{0}}}}.Drawable())
	assert.True(t, Lines{Series: []Series{{X: []float64{1}, Y: []float64{0}}}}.Drawable())
}
