package models_test

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/designrows"
	"github.com/residua-go/residua/models"
)

// The sections of a design's file that the tests of this package read; testdata/designs/README.md
// explains them.
type (
	presetRow struct {
		On         string           // the preset that Model changes; none: Model is a whole config
		Model      designrows.Model // the config that the preset's name must always stand for
		Paper      float64
		Parameters formula
		FLOPs      formula `yaml:"flops"`
		Printed    []printedRow
		OddSides   []int `yaml:"odd_sides"`
	}
	printedRow struct {
		Want, Within float64
		Of           formula
		Note         string
	}
	conformanceRow struct {
		Model designrows.Model
		Long  bool
	}
	effectRow struct {
		Setting string
		To      any
		Seen    string
		Of      designrows.Model
	}
	refusedRow struct {
		Key, Problem string
		Model        designrows.Model
	}
	defaultsRow struct{ Of, Are designrows.Model }
	differsRow  struct {
		Of, To  designrows.Model
		Problem string
	}
)

// tinyOn returns a tiny model of a design, with changes. It has the options of matrix streams if
// the design has no d_model.
func tinyOn(t *testing.T, design string, m designrows.Model) models.Config {
	d, err := models.Standard().Stream(design)
	require.NoError(t, err)
	base := tinyMatrix(plainly)
	if hasWidth(d) {
		base = tinyVector(plainly)
	}
	return m.On(t, design, base)
}

// tinySettings returns a tiny model of a design with settings of its stream.
func tinySettings(t *testing.T, design string, settings ...designrows.Model) models.Config {
	all := map[string]any{}
	for _, s := range settings {
		maps.Copy(all, s)
	}
	return tinyOn(t, design, designrows.Model{"stream": all})
}

// hasWidth tells whether a design is a stream of vectors, with a d_model.
func hasWidth(d namedDesign) bool { return slices.Contains(settingsIn(d), "d_model") }

// settingsIn lists the keys of a design's settings.
func settingsIn(d namedDesign) (keys []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeOf(d)) {
		keys = append(keys, f.Tag.Get("yaml"))
	}
	return keys
}

// designRow is a row of a section that lists rows, with its design.
type designRow[R any] struct {
	design string
	row    R
}

// rowsOf returns a section's rows in the files of all designs, in the order of the zoo.
func rowsOf[R any](t *testing.T, section string) (rows []designRow[R]) {
	all := designrows.Read[[]R](t, section)
	for _, design := range models.Standard().StreamNames() {
		for _, r := range all[design] {
			rows = append(rows, designRow[R]{design, r})
		}
	}
	return rows
}
