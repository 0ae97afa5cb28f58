package pretrained

import (
	"cmp"
	"reflect"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

// rope holds the keys of a config.json about rotary positions: rope_parameters or, as
// transformers before version 5 wrote them, rope_theta and rope_scaling, which says how they
// differ from plain ones.
type rope struct {
	Parameters *ropeParameters `json:"rope_parameters"`
	Theta      *float64        `json:"rope_theta"`
	Scaling    *ropeParameters `json:"rope_scaling"`
	Partial    *float64        `json:"partial_rotary_factor"`
	Seq        int             `json:"max_position_embeddings"`
}

type ropeParameters struct {
	Theta *float64 `json:"rope_theta,omitempty"`
	ropeScaling
	OldType      string   `json:"type,omitempty"`
	Partial      *float64 `json:"partial_rotary_factor,omitempty"`
	MScale       *float64 `json:"mscale,omitempty"`
	MScaleAllDim *float64 `json:"mscale_all_dim,omitempty"`
	Truncate     *bool    `json:"truncate,omitempty"`
}

// ropeScaling is a layers.RopeScaling with the keys of a config.json.
type ropeScaling struct {
	Type            string    `json:"rope_type,omitempty"`
	Factor          float64   `json:"factor,omitempty"`
	OriginalSeq     int       `json:"original_max_position_embeddings,omitempty"`
	LowFreqFactor   float64   `json:"low_freq_factor,omitempty"`
	HighFreqFactor  float64   `json:"high_freq_factor,omitempty"`
	BetaFast        float64   `json:"beta_fast,omitempty"`
	BetaSlow        float64   `json:"beta_slow,omitempty"`
	AttentionFactor float64   `json:"attention_factor,omitempty"`
	ShortFactors    []float64 `json:"short_factor,omitempty"`
	LongFactors     []float64 `json:"long_factor,omitempty"`
}

// ropeDefault is the type of positions without scaling.
const ropeDefault = "default"

// addRope sets a model's rotary positions from a config.json, with transformers' default base
// of 10000.
func addRope(m *models.Attention, text []byte) error { return addRopeFrom(m, text, 10000) }

// addRopeFrom is like addRope, for a class with another default base.
func addRopeFrom(m *models.Attention, text []byte, base float64) error {
	var r rope
	if err := unmarshal(text, &r); err != nil {
		return err
	}
	said := ropeSaid{theta: base, thetaKey: "rope_theta"}
	for _, part := range []struct {
		key string
		*ropeParameters
	}{{"", &ropeParameters{Theta: r.Theta, Partial: r.Partial}}, {"rope_scaling.", r.Scaling}, {"rope_parameters.", r.Parameters}} {
		if part.ropeParameters == nil {
			continue
		}
		if err := said.add(part.key, *part.ropeParameters, r.Seq); err != nil {
			return err
		}
	}
	if !(said.theta > 1) {
		return layers.Setting(said.thetaKey, "want above 1, got %g", said.theta)
	}
	m.Positions, m.RopeBase, m.RopeScaling, m.RopePart = models.PositionsRoPE, said.theta, said.scaling, said.part
	return nil
}

// ropeSaid is what the keys of a config.json that have been read say about positions. Keys that
// disagree are refused, since versions of transformers prefer one or the other.
type ropeSaid struct {
	theta      float64
	thetaKey   string
	thetaGiven bool
	scaling    layers.RopeScaling
	scalingKey string // "": no key has said anything
	part       float64
}

// add adds what the keys with a prefix say.
func (s *ropeSaid) add(key string, p ropeParameters, seq int) error {
	scaling, err := p.scaling(key, seq)
	if err != nil {
		return err
	}
	if p.Theta != nil {
		if s.thetaGiven && *p.Theta != s.theta {
			return layers.Setting(key+"rope_theta", "want %g as in %s, or one of the two keys alone, got %g", s.theta, s.thetaKey, *p.Theta)
		}
		s.theta, s.thetaKey, s.thetaGiven = *p.Theta, key+"rope_theta", true
	}
	if p.Partial != nil && *p.Partial != 1 {
		s.part = *p.Partial
	}
	if cmp.Or(p.Type, p.OldType) == "" {
		return nil
	}
	if s.scalingKey != "" && !reflect.DeepEqual(scaling, s.scaling) {
		return layers.Setting(key+"rope_type", "want what %s says, %+v, or one of the two keys alone, got %+v", s.scalingKey, s.scaling, scaling)
	}
	s.scaling, s.scalingKey = scaling, key+"rope_type"
	return nil
}

// scaling returns the scaling of positions that rotate all of a head; key is the prefix of p's keys
// in errors. If original_max_position_embeddings is missing, yarn takes seq as the length of rows
// in training.
func (p ropeParameters) scaling(key string, seq int) (layers.RopeScaling, error) {
	r, typeKey := layers.RopeScaling(p.ropeScaling), key+"rope_type"
	if r.Type == "" {
		r.Type, typeKey = p.OldType, key+"type"
	}
	switch {
	case p.OldType != "" && p.OldType != r.Type:
		return r, layers.Setting(key+"type", "want %s as in %srope_type, or one of the two keys alone, got %s", r.Type, key, p.OldType)
	case p.MScale != nil || p.MScaleAllDim != nil:
		return r, layers.Setting(key+"mscale", "want nothing: yarn's factors for DeepSeek's models are not built")
	case p.Truncate != nil && !*p.Truncate:
		return r, layers.Setting(key+"truncate", "want true, got false: yarn between pairs is not supported")
	}
	switch r.Type {
	case "", ropeDefault:
		return layers.RopeScaling{}, nil
	case layers.RopeLinear: // for which transformers reads only the factor
		r = layers.RopeScaling{Type: r.Type, Factor: r.Factor}
	case layers.RopeYaRN:
		r.OriginalSeq = cmp.Or(r.OriginalSeq, seq)
		r.LowFreqFactor, r.HighFreqFactor = 0, 0
	case layers.RopeLong, "su":
		r.Type = layers.RopeLong
		if r.Factor == 0 && r.OriginalSeq > 0 {
			r.Factor = float64(seq) / float64(r.OriginalSeq)
		}
	case layers.RopeLlama3:
		r.BetaFast, r.BetaSlow, r.AttentionFactor = 0, 0, 0
	default:
		return r, layers.Setting(typeKey, "want %s, %s, %s, %s or %s, got %q: other scaled positions are not built", ropeDefault, layers.RopeLinear,
			layers.RopeLlama3, layers.RopeYaRN, layers.RopeLong, r.Type)
	}
	return r, nil
}

// ropeJSON returns the rope_parameters of a model, with its base.
func ropeJSON(a models.Attention) ropeParameters {
	s, theta := ropeScaling(a.RopeScaling), cmp.Or(a.RopeBase, 10000)
	s.Type = cmp.Or(s.Type, ropeDefault)
	p := ropeParameters{Theta: &theta, ropeScaling: s}
	if a.RopePart != 0 {
		p.Partial = &a.RopePart
	}
	return p
}
