package figure

import "fmt"

// Sizes of legends, in px.
const (
	legendPitch = 17.0
	legendKey   = 24.0
	legendMost  = 220.0 // a name's length
	legendRows  = 24
)

// legend lays out series' names, those beyond legendRows as their number; key draws what stands before name i, around a height.
// No names need no room.
func (t typesetter) legend(series []string, key func(p painter, i int, y float64)) picture {
	if len(series) == 0 {
		return picture{paint: func(painter) {}}
	}
	shown, more := series, ""
	if len(series) > legendRows {
		shown, more = series[:legendRows-1], fmt.Sprintf("… and %d more", len(series)-legendRows+1)
	}
	names := []string{more}
	for _, name := range shown {
		names = append(names, t.cut(Name(name), tickSize, legendMost, false))
	}
	const wider = 1.15 // a viewer's font may be wider than the one measured
	width := legendKey + 6 + wider*t.widest(names, tickSize)
	return picture{width, legendPitch * float64(min(len(series), legendRows)), func(p painter) {
		for i, name := range names[1:] {
			y := (float64(i) + 0.5) * legendPitch
			key(p, i, y)
			p.text(legendKey+6, y, name, textStyle{})
		}
		if more != "" {
			p.text(0, (legendRows-0.5)*legendPitch, more, textStyle{color: grey})
		}
	}}
}
