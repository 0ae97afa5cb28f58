package pretrained

import "github.com/residua-go/residua/layers"

// rope is what a config.json says of rotary positions: in rope_parameters, or as transformers before version 5 wrote
// it in rope_theta, and in rope_scaling what is unlike plain ones.
type rope struct {
	Parameters *ropeParameters `json:"rope_parameters"`
	Theta      *float64        `json:"rope_theta"`
	Scaling    *ropeParameters `json:"rope_scaling"`
	Partial    *float64        `json:"partial_rotary_factor"`
}

type ropeParameters struct {
	Theta   *float64 `json:"rope_theta"`
	Type    *string  `json:"rope_type"`
	OldType *string  `json:"type"`
	Partial *float64 `json:"partial_rotary_factor"`
}

// ropeBase is the base of the wavelengths in a config.json, by transformers' default 10000.
func ropeBase(text []byte) (float64, error) {
	var r rope
	if err := unmarshal(text, &r); err != nil {
		return 0, err
	}
	theta, key := 10000.0, "rope_theta"
	if r.Theta != nil {
		theta = *r.Theta
	}
	for _, part := range []struct {
		key string
		*ropeParameters
	}{{"rope_scaling", r.Scaling}, {"rope_parameters", r.Parameters}, {"", &ropeParameters{Partial: r.Partial}}} {
		if part.ropeParameters == nil {
			continue
		}
		if err := part.check(part.key); err != nil {
			return 0, err
		}
		if part.Theta != nil {
			theta, key = *part.Theta, part.key+".rope_theta"
		}
	}
	if !(theta > 1) {
		return 0, layers.Setting(key, "want above 1, got %g", theta)
	}
	return theta, nil
}

// check wants positions that turn all of a head, by wavelengths that are not scaled.
func (p ropeParameters) check(key string) error {
	if key != "" {
		key += "."
	}
	for _, kind := range []struct {
		key   string
		value *string
	}{{"rope_type", p.Type}, {"type", p.OldType}} {
		if kind.value != nil && *kind.value != "default" {
			return layers.Setting(key+kind.key, "want default, got %q: scaled rotary positions are not built", *kind.value)
		}
	}
	if p.Partial != nil && *p.Partial != 1 {
		return layers.Setting(key+"partial_rotary_factor", "want 1, got %g: positions that turn a part of each head are not built", *p.Partial)
	}
	return nil
}
