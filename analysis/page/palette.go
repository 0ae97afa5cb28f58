package page

import (
	"fmt"
	"image/color"

	"github.com/residua-go/residua/figure"
)

// palette is the colours of package figure for the script, as #rrggbb.
type palette struct {
	Diverging  []string `json:"diverging"` // from a scale's low end to its high end
	Sequential []string `json:"sequential"`
	Intensity  []string `json:"intensity"`
	Series     []string `json:"series"`
	Negative   string   `json:"negative"`
	Positive   string   `json:"positive"`
}

func colours() palette {
	const series = 6 // then figure.Color begins again
	p := palette{
		Diverging: ramp(figure.Diverging()), Sequential: ramp(figure.Sequential()), Intensity: ramp(figure.Intensity()),
		Negative: hex(figure.Signed(-1)), Positive: hex(figure.Signed(1)),
	}
	for i := range series {
		p.Series = append(p.Series, hex(figure.Color(i)))
	}
	return p
}

// ramp is a scale's colours, evenly spaced, the middle one among them.
func ramp(s figure.Scale) []string {
	const shades = 129
	colors := make([]string, shades)
	for i := range colors {
		colors[i] = hex(s.At(float64(i) / (shades - 1)))
	}
	return colors
}

func hex(c color.NRGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }
