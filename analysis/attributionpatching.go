package analysis

import (
	"fmt"

	"gonum.org/v1/gonum/floats"

	"github.com/residua-go/residua/analysis/cache"
	"github.com/residua-go/residua/analysis/check"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// AttributionPatchStream is PatchStream to first order (attribution patching; Nanda 2023,
// "Attribution Patching: Activation Patching At Industrial Scale"; Syed, Rager & Conmy 2023): with
// the gradient of the metric at the corrupt run, for activation a and the entries of one place,
//
//	Effect = sum over entries of (a_clean - a_corrupt) d metric/d a / (clean - corrupt)
//
// Two runs and one backward pass give all places, where patching needs a run for each. It is exact
// where what follows the place is linear. The metric must be LogitOf.
func AttributionPatchStream(store *graph.Store, c models.Spec, clean, corrupt []int32, m Metric) (*Patching, error) {
	p, err := streamPlaces(store, c, len(clean))
	if err != nil {
		return nil, err
	}
	return p.attribute(store, c, clean, corrupt, m)
}

// AttributionPatchHeads is PatchHeads to first order, as AttributionPatchStream.
func AttributionPatchHeads(store *graph.Store, c models.Spec, clean, corrupt []int32, m Metric) (*Patching, error) {
	return headPlaces(c).attribute(store, c, clean, corrupt, m)
}

func (p places) attribute(store *graph.Store, c models.Spec, clean, corrupt []int32, m Metric) (*Patching, error) {
	if err := checkPair(clean, corrupt); err != nil {
		return nil, err
	}
	if m.logits == nil {
		return nil, check.Value(fmt.Sprintf("metric %q", m.Name), "what LogitOf returns, which has a gradient", "another metric")
	}
	r, err := cache.ForRow(store, c, clean, p.names...)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var runs [2]*cache.Cache // clean, corrupt
	var metrics [2]float64
	for i, ids := range [][]int32{clean, corrupt} {
		if runs[i], err = r.Run(ids); err != nil {
			return nil, err
		}
		if metrics[i], err = m.Of(runs[i]); err != nil {
			return nil, err
		}
	}
	gradients, err := cache.Gradients(store, c, corrupt, *m.logits, p.names...)
	if err != nil {
		return nil, err
	}
	result := p.result(m)
	result.Title += " to first order"
	result.Clean, result.Baseline = metrics[0], metrics[1]
	for _, g := range gradients {
		result.add(g.Name, p.products(g, runs))
	}
	return result, result.normalise()
}

// products are, for each place of an activation, what the metric changes by to first order.
func (p places) products(gradient cache.Activation, runs [2]*cache.Cache) []float64 {
	clean, _ := runs[0].Activation(gradient.Name) // which both keep
	corrupt, _ := runs[1].Activation(gradient.Name)
	floats.Mul(gradient.Values, less(clean, corrupt))
	effects := make([]float64, p.columns)
	for column := range effects {
		each, _ := gradient.Select(cache.At{p.axis: column}) // one of its own
		effects[column] = floats.Sum(each)
	}
	return effects
}
