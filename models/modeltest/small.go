package modeltest

import (
	"reflect"

	"github.com/residua-go/residua/models"
)

// smallSize replaces larger sizes. It is a multiple of 2, 3 and 4.
const smallSize = 12

// Small returns the presets of the zoo's smallest models, which have 4 blocks, made even smaller,
// so that the suite runs on each in moments. Every stream design has at least one. Mixtures of
// experts are left out, because with few tokens some experts would get none.
func Small(zoo models.Zoo) []models.Preset {
	var small []models.Preset
	for _, p := range zoo.Presets() {
		if p.Config.Layers == 4 && (p.Config.FeedForward == nil || p.Config.FeedForward.Shape().Experts == 0) {
			p.Config = Shrunk(p.Config)
			small = append(small, p)
		}
	}
	return small
}

// Shrunk returns a model of 2 blocks with a vocabulary of 13 ids, rows of 9 tokens and learned
// positions, in which no size of the stream and the feed-forward is above 12.
func Shrunk(c models.Config) models.Config {
	c.Layers, c.Vocab, c.Seq, c.Attention.Positions = 2, 13, 9, models.PositionsLearned
	c.LoopBegin, c.LoopEnd = min(c.LoopBegin, 1), min(c.LoopEnd, 2)
	c.Attention.Heads, c.Attention.RopeBase = min(3, c.Attention.Heads), 0
	c.Attention.ValueEmbeddings = min(smallSize, c.Attention.ValueEmbeddings)
	if c.Attention.KVHeads > 0 {
		c.Attention.Heads, c.Attention.KVHeads = 2*min(1, c.Attention.Heads), 1
	}
	for _, part := range []any{&c.Stream, &c.FeedForward} {
		v := reflect.ValueOf(part).Elem() // an interface with a design
		if v.IsNil() {
			continue
		}
		design := reflect.New(v.Elem().Type()).Elem()
		design.Set(v.Elem())
		shrink(design)
		v.Set(design)
	}
	return c
}

// shrink bounds the settings of a design that are sizes.
func shrink(design reflect.Value) {
	for _, f := range reflect.VisibleFields(design.Type()) {
		if v := design.FieldByIndex(f.Index); f.Tag.Get("yaml") != "" && v.CanInt() {
			v.SetInt(min(v.Int(), smallSize))
		}
	}
}
