package models

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/settings"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream"
)

// MarshalJSON writes a config in sections, as a run config has it. The sections of the stream, the
// attention and the feed-forward name their kind, except for softmax attention. Zoo.Unmarshal reads
// it.
func (c Config) MarshalJSON() ([]byte, error) {
	for _, design := range []any{c.Stream, c.Attention.Kind, c.FeedForward, c.Writes} {
		if design != nil && !isStruct(design) {
			return nil, errors.Errorf("models: config: want a design that is a struct, got %T", design)
		}
	}
	type plain Config // without this method
	return json.Marshal(struct {
		plain
		Stream      any      `json:"stream"`
		FeedForward any      `json:"feedforward,omitempty"`
		Writes      any      `json:"writes,omitempty"`
		MuP         *mupJSON `json:"mup,omitempty"`
	}{plain(c), sectionOf(c.Stream), sectionOf(c.FeedForward), sectionOf(c.Writes), jsonOfMuP(c.MuP)})
}

// MarshalJSON writes the keys that every attention has, then the kind with its own keys.
func (a Attention) MarshalJSON() ([]byte, error) {
	type plain Attention // without this method
	text, err := json.Marshal(plain(a))
	if err != nil || a.isDefault() {
		return text, err
	}
	kind, err := json.Marshal(sectionOf(a.Kind))
	if err != nil || len(text) == len("{}") {
		return kind, err
	}
	return slices.Concat(text[:len(text)-1], []byte(","), kind[1:]), nil
}

// mupJSON is a MuP whose base has the sections of the JSON.
type mupJSON struct {
	*MuP
	Base struct {
		Stream      any       `json:"stream,omitempty"`
		Attention   BaseHeads `json:"attention"`
		FeedForward any       `json:"feedforward,omitempty"`
	} `json:"base"`
}

func jsonOfMuP(m *MuP) *mupJSON {
	if m == nil {
		return nil
	}
	j := &mupJSON{MuP: m}
	j.Base.Stream, j.Base.Attention, j.Base.FeedForward = sectionOf(m.Base.Stream), m.Base.Attention, sectionOf(m.Base.FeedForward)
	return j
}

// sectionOf returns a design as a section: its kind and its settings that are not zero; nil for no
// design.
func sectionOf(design any) any {
	k, ok := design.(Kind)
	if !ok {
		return nil
	}
	section, v := map[string]any{settings.KindKey: k.Name()}, reflect.ValueOf(design)
	for _, s := range settingsOf(v.Type()) {
		if field := v.FieldByIndex(s.Index); !field.IsZero() {
			section[s.Key] = field.Interface()
		}
	}
	return section
}

// Unmarshal reads a config that Config.MarshalJSON wrote, with designs from the zoo. A key that a
// section does not have is an error.
func (z Zoo) Unmarshal(text []byte) (Config, error) {
	c, err := z.unmarshal(text)
	var wrong *settings.Error
	if errors.As(err, &wrong) {
		err = errors.Errorf("the file is damaged, or was written by a newer program or one with more designs: %s: %s", wrong.Key, wrong.Problem)
	}
	return c, errors.Wrap(err, "models: config")
}

// unmarshal reads the sections as a run config's model section is read. First it removes what
// that section does not have: the data section's keys, and the kinds of a muP base's sections,
// which are the model's kinds.
func (z Zoo) unmarshal(text []byte) (Config, error) {
	var sections map[string]any
	var read struct {
		Model         Config `yaml:"model" json:"-"`
		MaskDocuments bool   `json:"mask_documents"`
		BOS           int    `json:"bos"`
		Separator     int    `json:"separator"`
	}
	if err := cmp.Or(json.Unmarshal(text, &sections), json.Unmarshal(text, &read)); err != nil {
		return Config{}, err
	}
	for _, key := range []string{"mask_documents", "bos", "separator"} {
		delete(sections, key)
	}
	mup, _ := sections["mup"].(map[string]any)
	base, _ := mup["base"].(map[string]any)
	for _, section := range base {
		if keys, ok := section.(map[string]any); ok {
			delete(keys, settings.KindKey)
		}
	}
	whole, err := json.Marshal(map[string]any{"model": sections})
	if err != nil {
		return Config{}, err
	}
	_, err = settings.Reader{Kinds: z.SectionKinds(false)}.Read(&read, "", whole, nil)
	c := read.Model
	c.MaskDocuments, c.BOS, c.Separator = read.MaskDocuments, read.BOS, read.Separator
	if c.Attention.isDefault() {
		c.Attention.Kind = nil
	}
	return c, err
}

// SectionKinds lists the kinds that the sections of a model may hold. If defaults is true, their
// settings have the default values.
func (z Zoo) SectionKinds(defaults bool) settings.Kinds {
	kinds := settings.Kinds{}
	addKinds(kinds, z.Streams(), defaults)
	addKinds(kinds, z.Attentions(), defaults)
	addKinds(kinds, z.FeedForwards(), defaults)
	addKinds(kinds, KindsOf[stream.WritesDesign](z), defaults)
	return kinds
}

// addKinds lists the designs that a section of type D may hold.
func addKinds[D settings.Kinded](kinds settings.Kinds, designs []D, defaults bool) {
	t := reflect.TypeFor[D]()
	for _, d := range designs {
		if defaults {
			d = layers.WithDefaults(d)
		}
		kinds[t] = append(kinds[t], d)
	}
}
