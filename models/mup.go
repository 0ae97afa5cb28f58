package models

import (
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/residua-go/residua/stream"
)

// basePrefix begins the keys of MuP's base sizes; what follows is a key of Config.
const basePrefix = "base_"

// ratios compares the stream with that of the muP base.
func (c Config) ratios() stream.Ratios {
	e, ok := entries()[c.Stream]
	if !ok || c.MuP == nil {
		return stream.Unscaled(c.HeadDim())
	}
	scaled, ok := e.of(c).(stream.Scaled)
	if !ok {
		return stream.Unscaled(c.HeadDim())
	}
	return scaled.Ratios(e.base(*c.MuP))
}

// hiddenRatio is the feed-forward's hidden width over that of the base.
func (c Config) hiddenRatio() float64 {
	if c.MuP == nil || c.MuP.BaseFF == 0 {
		return 1
	}
	return float64(c.FF) / float64(c.MuP.BaseFF)
}

// multiplier is one of MuP's, 1 without it.
func (c Config) multiplier(of func(m *MuP) float64) float64 {
	if c.MuP == nil || of(c.MuP) == 0 {
		return 1
	}
	return of(c.MuP)
}

// inputScale is the factor of the embedding.
func (c Config) inputScale() float64 {
	return c.multiplier(func(m *MuP) float64 { return m.InputMultiplier })
}

// attentionScale is the factor of q.k in block l: multiplier * sqrt(base Dh)/Dh, which
// is 1/sqrt(Dh) without muP; with inverse layer scaling over (l+1) (paper C.1).
func (c Config) attentionScale(l int) float64 {
	scale := c.multiplier(func(m *MuP) float64 { return m.AttnMultiplier }) * math.Sqrt(c.ratios().BaseHead) / float64(c.HeadDim())
	if c.InverseLayerScaling {
		scale /= float64(l + 1)
	}
	return scale
}

// logitScale is the factor of the logits: multiplier over the width ratio.
func (c Config) logitScale() float64 {
	return c.multiplier(func(m *MuP) float64 { return m.OutputMultiplier }) / c.ratios().WidthRatio
}

// checkMuP wants base sizes of the stream's own, where muP is known for it.
func (c Config) checkMuP() error {
	if c.MuP == nil {
		return nil
	}
	if _, ok := c.Design().(stream.Scaled); !ok {
		return fieldError("mup", "want nothing for the %s stream: muP is known for %s", c.Stream, strings.Join(scaledStreams(), " and "))
	}
	if err := c.checkBases(); err != nil {
		return err
	}
	m := c.MuP
	for _, f := range []struct {
		field string
		value float64
	}{{"input_multiplier", m.InputMultiplier}, {"output_multiplier", m.OutputMultiplier}, {"attn_multiplier", m.AttnMultiplier}} {
		if f.value != 0 && !positive(f.value) {
			return fieldError("mup."+f.field, "want a finite number > 0, got %g", f.value)
		}
	}
	return nil
}

// checkBases looks at the base sizes: those of the stream and of the feed-forward, then those
// of other streams.
func (c Config) checkBases() error {
	own, bases := append(entries()[c.Stream].keys(), "ff"), reflect.ValueOf(*c.MuP)
	fields := keyed(bases.Type())
	for _, key := range own {
		if index := indexOf(fields, basePrefix+key); index != nil && bases.FieldByIndex(index).Int() < 0 {
			return fieldError("mup."+basePrefix+key, "want >= 1, got %d", bases.FieldByIndex(index).Int())
		}
	}
	for _, f := range fields {
		key, isBase := strings.CutPrefix(f.key, basePrefix)
		if base := bases.FieldByIndex(f.index); isBase && !slices.Contains(own, key) && base.Int() != 0 {
			return fieldError("mup."+f.key, "want nothing for the %s stream, got %d: remove it", c.Stream, base.Int())
		}
	}
	return nil
}
