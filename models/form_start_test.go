package models_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// TestResidualFormStarts: the coefficients in a model's first run are those that the form states,
// at both sites.
func TestResidualFormStarts(t *testing.T) {
	compared := 0
	for name, c := range formConfigs(t) {
		forms, err := models.ResidualForm(c)
		require.NoError(t, err)
		for _, f := range forms {
			w := watch(t, c, modeltest.NewStore(t, c, tensor.Float64, 0), f.Site, 1)
			if w.coefficients == nil {
				continue
			}
			size := len(w.coefficients)
			if f.Up.Choice == stream.Dependent {
				size /= w.tokens
			}
			a := unpack(w.coefficients[:size], f.Res.Rows, f.Down.Rows)
			for i, x := range coefficients(f) {
				within := 1e-12
				if strings.HasPrefix(x.Start.Text, about) {
					within = 1e-2
				}
				require.InDeltaSlice(t, x.Start.Values, a[i], within, "%s %s %s", name, f.Site, x.Axes)
				checkWords(t, x, a[i], map[string]int{"blocks.0.attention": 0, "blocks.0.feedforward": 1}[f.Site])
				compared++
			}
		}
	}
	assert.GreaterOrEqual(t, compared, 7*2*3)
}

// about begins the words for coefficients that a small random projection changes a little.
const about = "about "

// checkWords compares a coefficient's numbers at the first step with the form's description of them
// in words; site counts the sublayers.
func checkWords(t *testing.T, x stream.Coefficient, values []float64, site int) {
	t.Helper()
	sigmoid := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	unit := map[bool]float64{true: 1}
	var diagonal float64
	_, err := fmt.Sscanf(x.Start.Text, "%g on the diagonal", &diagonal)
	for at, v := range values {
		i, j := at/x.Columns, at%x.Columns
		var want float64
		digits := 1e-12
		text, approximate := strings.CutPrefix(x.Start.Text, about)
		if approximate {
			digits = 1e-2
		}
		switch text {
		case "1":
			want = 1
		case "I", "[I 0]":
			want = unit[i == j]
		case "1 at row (site mod n)":
			want = unit[j == site%x.Columns]
		case "1 where j = i mod m":
			want = unit[j == i%x.Columns]
		case "1/n":
			want = 1 / float64(x.Columns)
		case "2 sigmoid(-0.01) to 2 sigmoid(0.01)":
			want = 2 * sigmoid(0.02*float64(i)/float64(x.Rows-1)-0.01)
		case "sigmoid(+1) at row (site mod n), sigmoid(-1) elsewhere":
			want = sigmoid(2*unit[j == site%x.Columns] - 1)
		case "2 sigmoid(+1) at row (site mod n), 2 sigmoid(-1) elsewhere":
			want = 2 * sigmoid(2*unit[i == site%x.Rows]-1)
		default:
			require.NoError(t, err, "words for %s: %q", x.Axes, x.Start.Text)
			if want, digits = diagonal, 5e-4; i != j {
				want = (1 - diagonal) / float64(x.Rows-1)
			}
		}
		require.InDelta(t, want, v, digits, "%q, entry %d, %d", x.Start.Text, i, j)
	}
}
