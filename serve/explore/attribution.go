package explore

import (
	"math"
	"slices"

	"github.com/residua-go/residua/analysis"
)

// Attribution writes a logit, or the difference of two, as a sum over the stream's writers:
//
//	Logit = sum of Writers + Constant + Remainder
//	      = sum of Contributions + Others + Constant + Remainder
type Attribution struct {
	Logit         float64        `json:"logit"`         // as the run computed it, before a soft cap
	Writers       []Contribution `json:"writers"`       // the sum of each writer's parts, in the order of the run
	Contributions []Contribution `json:"contributions"` // the largest parts of writers, and all heads and experts, the largest first
	Others        float64        `json:"others"`        // sum of all other parts
	Constant      float64        `json:"constant"`      // the biases of norms
	// Remainder is the rounding error and, if the stream itself was changed, what the change
	// wrote.
	Remainder float64 `json:"remainder"`
}

// Contribution is one term of a logit.
type Contribution struct {
	Name string `json:"name"`
	analysis.Contribution
	// Change switches the term off; nil if no change of an activation alone can do that.
	Change *Change `json:"change,omitempty"`
}

// contributionsMost is the number of parts listed in addition to heads and experts.
const contributionsMost = 60

// attribution lists the largest terms.
func (e *Explorer) attribution(a *analysis.Attribution) Attribution {
	out := Attribution{Logit: a.Logit, Constant: a.Constant, Remainder: a.Logit - a.Sum}
	for _, c := range a.ByWriter() {
		out.Writers = append(out.Writers, e.contribution(c, true))
	}
	left := contributionsMost
	for _, c := range analysis.Rank("", a.Contributions, len(a.Contributions)).Largest {
		few := c.Part == "head" || c.Part == "expert"
		switch {
		case !few && left == 0:
			out.Others += c.Value
			continue
		case !few:
			left--
		}
		out.Contributions = append(out.Contributions, e.contribution(c, false))
	}
	return out
}

// contribution converts a term: the sum of a whole writer's parts if whole is set, otherwise one
// part.
func (e *Explorer) contribution(c analysis.Contribution, whole bool) Contribution {
	out := Contribution{Name: c.Name(), Contribution: c}
	i := slices.IndexFunc(e.about.Writers, func(w Writer) bool { return w.Name == c.Writer })
	if i < 0 || e.about.Writers[i].Part != c.Part && !whole {
		return out
	}
	w, off := e.about.Writers[i], 0.0
	out.Change = &Change{Activation: w.Activation, Scale: &off}
	switch {
	case whole || w.Parts == 1:
	case w.Axis != "":
		out.Change.At = map[string]int{w.Axis: c.Index}
	default:
		out.Change = nil
	}
	if _, known := e.sites[w.Activation]; !known || math.IsNaN(c.Value) {
		out.Change = nil
	}
	return out
}
