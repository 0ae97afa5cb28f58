package experiment

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/stream"
)

// movesTable shows how far each kind of coefficients moved from its start: root mean squares over
// entries, tokens and sites.
func movesTable(cells []Result) figure.Table {
	t := figure.NewTable("How far coefficients moved from their start (root mean square), by seed", "lll", "", "coefficients", "by seed")
	for _, c := range cells {
		var kinds []stream.MixingKind
		moved := map[stream.MixingKind][]string{}
		for _, run := range c.runs {
			squares := map[stream.MixingKind][]float64{}
			for _, m := range run.Mixing {
				if len(moved[m.Kind])+len(squares[m.Kind]) == 0 {
					kinds = append(kinds, m.Kind)
				}
				squares[m.Kind] = append(squares[m.Kind], m.Moved*m.Moved)
			}
			for kind, s := range squares {
				moved[kind] = append(moved[kind], fmt.Sprintf("%.3g", math.Sqrt(stat.Mean(s, nil))))
			}
		}
		for _, kind := range kinds {
			t.Row(c.Name(), string(kind), strings.Join(moved[kind], ", "))
		}
	}
	return t
}
