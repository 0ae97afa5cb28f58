package models

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// design holds a stream's choices in the linear form of residual designs.
type design struct {
	Name   string        `json:"name"`
	Preset string        `json:"preset"` // the preset whose numbers are shown
	Size   string        `json:"size"`
	Sites  []stream.Form `json:"sites"` // sites of the first block

	spec models.Spec // the preset's model
}

// designs describes each stream at the size of its smallest preset.
func designs(zoo models.Zoo) ([]design, error) {
	var all []design
	parameters := map[string]int{} // of the preset used, by the design's name
	for _, p := range zoo.Presets() {
		s, err := p.Config.Resolve()
		if err != nil {
			return nil, errors.Wrap(err, p.Name)
		}
		name, n := designName(s.Stream), s.Cost().Parameters
		if least, known := parameters[name]; known && least <= n {
			continue
		}
		parameters[name] = n
		all = append(slices.DeleteFunc(all, func(d design) bool { return d.Name == name }), design{Name: name, Preset: p.Name, Size: size(s), spec: s})
	}
	for i, d := range all {
		var err error
		if all[i].Sites, err = models.ResidualForm(d.spec); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// designName returns a stream's name, with its variant if there are several: "hyper static".
func designName(d stream.Design) string {
	if varied, ok := d.(stream.VariantNamer); ok {
		return d.Name() + " " + varied.Variant()
	}
	return d.Name()
}

// linearForm is the heading of the table.
const linearForm = "h' = A_res h + B_up F(A_down h)\n\n"

// formLegend explains the table.
const formLegend = `
h             a token's state as n rows; F: a sublayer with its norm, from m rows to m
fixed         numbers that the design gives, no parameters
learned       parameters, the same for all tokens; input-dependent: computed from the token's state
starts as     initial value: I the identity matrix, 1 in every entry, N(..) drawn at random; site counts the sublayers
The shapes come from each stream's smallest preset. Tests compare all of this with what runs compute.
`

// formTable formats the designs for reading.
func formTable(all []design) string {
	var t figure.Table
	t.Row("stream", "", "choice", "shape", "", "starts as")
	for _, d := range all {
		name := d.Name
		for _, part := range formParts() {
			for _, row := range part.rows(d.Sites) {
				t.Rows = append(t.Rows, append([]string{name}, row...))
				name = ""
			}
		}
	}
	var beyond, sources figure.Table
	for _, d := range all {
		name := d.Name
		for _, term := range d.Sites[0].Beyond {
			beyond.Row("", name, term.Text)
			name = ""
		}
		sources.Row("", d.Name, d.Sites[0].Source)
	}
	return linearForm + t.Within(columns).Text() + "\nWhat does not fit the form:\n" + beyond.Within(columns).Text() + "\nSources:\n" +
		sources.Within(columns).Text() + formLegend
}

// formPart is one of the form's coefficients.
type formPart struct {
	name string
	of   func(f stream.Form) stream.Coefficient
}

func formParts() []formPart {
	return []formPart{
		{"A_res", func(f stream.Form) stream.Coefficient { return f.Res }},
		{"A_down", func(f stream.Form) stream.Coefficient { return f.Down }},
		{"B_up", func(f stream.Form) stream.Coefficient { return f.Up }},
	}
}

// rows returns the cells for a coefficient: one row if all sites read the same, otherwise one per
// site.
func (p formPart) rows(sites []stream.Form) [][]string {
	var rows [][]string
	same := true
	for _, f := range sites {
		x := p.of(f)
		rows = append(rows, []string{p.name, chosen(x), x.Axes, fmt.Sprintf("%d x %d", x.Rows, x.Columns), x.Start.Text})
		same = same && strings.Join(rows[0], "|") == strings.Join(rows[len(rows)-1], "|")
	}
	if same {
		return rows[:1]
	}
	for i, f := range sites {
		rows[i][0] += ", " + f.Site[strings.LastIndex(f.Site, ".")+1:]
	}
	return rows
}

// chosen says where a coefficient comes from and which properties it has.
func chosen(x stream.Coefficient) string {
	text := string(x.Choice)
	if x.Diagonal {
		text += " diagonal"
	}
	if x.Constraint != "" {
		text += ", " + string(x.Constraint)
	}
	return text
}
