package layers

import (
	"cmp"
	"math"
	"reflect"

	"github.com/residua-go/residua/graph/kernel"
)

// The types of RopeScaling.
const (
	RopeLinear = "linear"
	RopeLlama3 = "llama3"
	RopeYaRN   = "yarn"
	RopeLong   = "longrope"
)

// RopeScaling changes rotary positions so that a model reads rows Factor times as long as those
// that it was trained on. It multiplies the rate w_i = base^(-2i/Dh) of each pair i by 1 - m_i +
// m_i/Factor, where m_i says how far a pair is interpolated:
//
//	linear  m_i = 1 (Chen et al. 2023, arXiv 2306.15595)
//	llama3  m_i = 1 - clamp((OriginalSeq w_i/(2 pi) - LowFreqFactor) / (HighFreqFactor - LowFreqFactor)) (Grattafiori et al. 2024, Llama 3.1's code)
//	yarn    m_i = clamp((i - low)/(high - low)) from the pair that turns BetaFast times in OriginalSeq tokens, rounded down, to the one that
//	        turns BetaSlow times, rounded up; queries and keys times AttentionFactor (Peng et al. 2023, arXiv 2309.00071, section 3.2)
//
// longrope divides the rate of pair i by LongFactors[i] in programs for rows of more than
// OriginalSeq tokens (for a cache with room for more), and by ShortFactors[i] in others (Ding et
// al. 2024, arXiv 2402.13753; Phi-3). Queries and keys are multiplied by AttentionFactor.
//
// clamp is to [0, 1]. The zero value changes nothing.
type RopeScaling struct {
	Type            string    `yaml:"type" json:"type,omitempty" added:"\"\"" help:"linear, llama3, yarn or longrope; empty: positions as they are"`
	Factor          float64   `yaml:"factor" json:"factor,omitempty" added:"0" help:"how many times longer than in training rows are"`
	OriginalSeq     int       `yaml:"original_seq" json:"original_seq,omitempty" added:"0" max:"1048576" help:"llama3, yarn, longrope: tokens of training rows"`
	LowFreqFactor   float64   `yaml:"low_freq_factor" json:"low_freq_factor,omitempty" default:"1 with llama3" from:".type" added:"0"`
	HighFreqFactor  float64   `yaml:"high_freq_factor" json:"high_freq_factor,omitempty" default:"4 with llama3" from:".type" added:"0"`
	BetaFast        float64   `yaml:"beta_fast" json:"beta_fast,omitempty" default:"32 with yarn" from:".type" added:"0"`
	BetaSlow        float64   `yaml:"beta_slow" json:"beta_slow,omitempty" default:"1 with yarn" from:".type" added:"0"`
	AttentionFactor float64   `yaml:"attention_factor" json:"attention_factor,omitempty" default:"by type" from:".type .factor" added:"0"`
	ShortFactors    []float64 `yaml:"short_factors" json:"short_factors,omitempty" default:"none" added:"null"`
	LongFactors     []float64 `yaml:"long_factors" json:"long_factors,omitempty" default:"none" added:"null" help:"longrope: the same, in longer rows"`
}

// Help returns the help texts that are too long for tags, by key.
func (RopeScaling) Help() map[string]string {
	return map[string]string{
		"low_freq_factor":  "llama3: pairs that turn fewer times than this in original_seq tokens are slowed by the whole factor",
		"high_freq_factor": "llama3: pairs that turn more often than this stay as they are",
		"beta_fast":        "yarn: pairs that turn more often than this in original_seq tokens stay as they are",
		"beta_slow":        "yarn: pairs that turn fewer times than this are slowed by the whole factor",
		"attention_factor": "yarn and longrope: multiplies queries and keys; by default 0.1 ln(factor) + 1 with yarn, sqrt(1 + " +
			"ln(factor)/ln(original_seq)) with longrope",
		"short_factors": "longrope: each pair is slowed by its number, in rows of at most original_seq tokens",
	}
}

// WithDefaults fills in the default numbers of r.Type where they are 0.
func (r RopeScaling) WithDefaults() RopeScaling {
	switch r.Type {
	case RopeLlama3:
		r.LowFreqFactor, r.HighFreqFactor = cmp.Or(r.LowFreqFactor, 1), cmp.Or(r.HighFreqFactor, 4)
	case RopeLong:
		if r.AttentionFactor == 0 && r.Factor >= 1 && r.OriginalSeq > 1 {
			r.AttentionFactor = math.Sqrt(1 + math.Log(r.Factor)/math.Log(float64(r.OriginalSeq)))
		}
	case RopeYaRN:
		r.BetaFast, r.BetaSlow = cmp.Or(r.BetaFast, 32), cmp.Or(r.BetaSlow, 1)
		if r.Factor > 0 {
			r.AttentionFactor = cmp.Or(r.AttentionFactor, 0.1*math.Log(r.Factor)+1)
		}
	}
	return r
}

// Check returns an error unless exactly the numbers that r.Type uses are set. The error names keys
// relative to the rope_scaling section.
func (r RopeScaling) Check() error {
	llama, yarn, long := r.Type == RopeLlama3, r.Type == RopeYaRN, r.Type == RopeLong
	switch r.Type {
	case "":
		if !r.IsZero() {
			return Setting("type", "want %s, %s, %s or %s, got nothing", RopeLinear, RopeLlama3, RopeYaRN, RopeLong)
		}
		return nil
	case RopeLinear, RopeLlama3, RopeYaRN, RopeLong:
	default:
		return Setting("type", "want %s, %s, %s or %s, got %q", RopeLinear, RopeLlama3, RopeYaRN, RopeLong, r.Type)
	}
	for _, n := range []struct {
		key   string
		value float64
		used  bool
		least float64
	}{
		{"factor", r.Factor, true, 1}, {"original_seq", float64(r.OriginalSeq), llama || yarn || long, 1},
		{"low_freq_factor", r.LowFreqFactor, llama, 0}, {"high_freq_factor", r.HighFreqFactor, llama, r.LowFreqFactor},
		{"beta_slow", r.BetaSlow, yarn, 0}, {"beta_fast", r.BetaFast, yarn, r.BetaSlow}, {"attention_factor", r.AttentionFactor, yarn || long, 0},
	} {
		switch {
		case !n.used && n.value != 0:
			return Setting(n.key, "want nothing with type %s, got %g", r.Type, n.value)
		case n.used && !(n.value >= n.least && n.value > 0 && n.value < math.Inf(1)):
			return Setting(n.key, "want a finite number above 0 and >= %g, got %g", n.least, n.value)
		}
	}
	for _, list := range []struct {
		key    string
		values []float64
	}{{"short_factors", r.ShortFactors}, {"long_factors", r.LongFactors}} {
		if !long && list.values != nil {
			return Setting(list.key, "want nothing with type %s, got %v", r.Type, list.values)
		}
		for _, v := range list.values {
			if !(v > 0 && v < math.Inf(1)) {
				return Setting(list.key, "want finite numbers above 0, got %v", list.values)
			}
		}
	}
	if llama && r.LowFreqFactor == r.HighFreqFactor {
		return Setting("high_freq_factor", "want above low_freq_factor, got %g for both", r.HighFreqFactor)
	}
	return nil
}

// IsZero tells whether r changes nothing.
func (r RopeScaling) IsZero() bool { return reflect.ValueOf(r).IsZero() }

// RotatedPairs returns how many pairs of a head rotate if a share of its entries does.
func RotatedPairs(part float64, headDim int) int { return int(part*float64(headDim)) / 2 }

// stretch returns the scaling of an attention's rotary positions, for rows of tokens. With RopePart
// only the first pairs of a head rotate, by the scaling of a smaller head made of these pairs
// alone; the rates of all other pairs are 0.
func (c AttentionConfig) stretch(tokens int) kernel.RopeStretch {
	switch {
	case c.RopeBase == 0:
		return kernel.RopeStretch{}
	case c.RopePart == 0:
		return c.Rope.stretch(c.RopeBase, c.HeadDim, tokens)
	}
	pairs := RotatedPairs(c.RopePart, c.HeadDim)
	s := c.Rope.stretch(c.RopeBase, 2*pairs, tokens)
	rates := make([]float64, c.HeadDim/2)
	for i := range pairs {
		rates[i] = math.Pow(c.RopeBase, 2*float64(i)/float64(c.HeadDim)-float64(i)/float64(pairs))
		if s.Rates != nil {
			rates[i] *= s.Rates[i]
		}
	}
	return kernel.RopeStretch{Rates: rates, Amplitude: s.Amplitude}
}

// stretch returns the scaling for rotary positions with the given base and head dimension, in rows
// of tokens.
func (r RopeScaling) stretch(base float64, headDim, tokens int) kernel.RopeStretch {
	if r.Type == "" {
		return kernel.RopeStretch{}
	}
	rates := make([]float64, headDim/2)
	factors := r.ShortFactors
	if tokens > r.OriginalSeq {
		factors = r.LongFactors
	}
	for i := range rates {
		if r.Type == RopeLong {
			rates[i] = 1 / factors[i]
			continue
		}
		m := r.interpolated(i, base, headDim)
		rates[i] = 1 - m + m/r.Factor
	}
	return kernel.RopeStretch{Rates: rates, Amplitude: r.AttentionFactor}
}

// interpolated returns m_i, which says how far pair i is interpolated (see RopeScaling).
func (r RopeScaling) interpolated(i int, base float64, headDim int) float64 {
	clamp := func(v float64) float64 { return min(max(v, 0), 1) }
	seq, dim := float64(r.OriginalSeq), float64(headDim)
	switch r.Type {
	case RopeLlama3:
		turns := seq * math.Pow(base, -2*float64(i)/dim) / (2 * math.Pi)
		return 1 - clamp((turns-r.LowFreqFactor)/(r.HighFreqFactor-r.LowFreqFactor))
	case RopeYaRN:
		pair := func(turns float64) float64 { return dim * math.Log(seq/(2*math.Pi*turns)) / (2 * math.Log(base)) }
		low, high := max(math.Floor(pair(r.BetaFast)), 0), min(math.Ceil(pair(r.BetaSlow)), dim-1)
		if low == high {
			high += 0.001
		}
		return clamp((float64(i) - low) / (high - low))
	}
	return 1
}
