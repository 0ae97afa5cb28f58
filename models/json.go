package models

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream"
)

// MarshalJSON writes a config in sections, as a run config has it. The sections of the stream, the
// attention and the feed-forward name their kind, except for softmax attention. Zoo.Unmarshal reads
// it.
func (c Config) MarshalJSON() ([]byte, error) {
	for _, design := range []any{c.Stream, c.Attention.Kind, c.FeedForward} {
		if design != nil && !isStruct(design) {
			return nil, errors.Errorf("models: config: want a design that is a struct, got %T", design)
		}
	}
	type plain Config // without this method
	return json.Marshal(struct {
		plain
		Stream      any      `json:"stream"`
		FeedForward any      `json:"feedforward,omitempty"`
		MuP         *mupJSON `json:"mup,omitempty"`
	}{plain(c), sectionOf(c.Stream), sectionOf(c.FeedForward), jsonOfMuP(c.MuP)})
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
	section, v := map[string]any{kindKey: k.Name()}, reflect.ValueOf(design)
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
	type plain Config
	var read struct {
		plain
		Stream      json.RawMessage `json:"stream"`
		Attention   json.RawMessage `json:"attention"`
		FeedForward json.RawMessage `json:"feedforward"`
		MuP         *struct {
			*MuP
			Base struct {
				Stream      json.RawMessage `json:"stream"`
				Attention   BaseHeads       `json:"attention"`
				FeedForward json.RawMessage `json:"feedforward"`
			} `json:"base"`
		} `json:"mup"`
	}
	if err := decodeStrictly(text, &read); err != nil {
		return Config{}, errors.Wrap(err, "models: config")
	}
	c := Config(read.plain)
	if len(read.Attention) > 0 {
		if err := z.readAttention(read.Attention, &c.Attention); err != nil {
			return c, errors.WithMessage(err, "models: config")
		}
	}
	err := readSections(
		section{"stream", read.Stream, z.readStream(&c.Stream)},
		section{"feedforward", read.FeedForward, z.readFeedForward(&c.FeedForward)})
	if read.MuP != nil && err == nil {
		c.MuP = &MuP{}
		if read.MuP.MuP != nil {
			*c.MuP = *read.MuP.MuP
		}
		base := &c.MuP.Base
		base.Attention = read.MuP.Base.Attention
		err = readSections(
			section{"mup.base.stream", read.MuP.Base.Stream, z.readStream(&base.Stream)},
			section{"mup.base.feedforward", read.MuP.Base.FeedForward, z.readFeedForward(&base.FeedForward)})
	}
	return c, err
}

func decodeStrictly(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

// readAttention reads the keys that every attention has, and the keys of the named kind.
func (z Zoo) readAttention(text json.RawMessage, into *Attention) error {
	var keys map[string]json.RawMessage
	var named struct {
		Kind string `json:"kind"`
	}
	if err := cmp.Or(json.Unmarshal(text, &keys), json.Unmarshal(text, &named)); err != nil {
		return errors.Wrap(err, "attention")
	}
	if named.Kind != "" {
		d, err := z.Attention(named.Kind)
		if err == nil {
			into.Kind, err = takeSettings(d, keys)
		}
		if err != nil {
			return errors.WithMessage(err, "attention")
		}
		delete(keys, kindKey)
	}
	rest, err := json.Marshal(keys)
	if err != nil {
		return err
	}
	type plain Attention
	return decodeStrictly(rest, (*plain)(into))
}

// section is the section of a stream or feed-forward in JSON, with the function that reads it.
type section struct {
	key  string
	text json.RawMessage
	read func(kind string, settings map[string]json.RawMessage) error
}

func readSections(sections ...section) error {
	for _, s := range sections {
		if len(s.text) == 0 || bytes.Equal(s.text, []byte("null")) {
			continue
		}
		var settings map[string]json.RawMessage
		var kind string
		err := json.Unmarshal(s.text, &settings)
		if err == nil {
			err = json.Unmarshal(settings[kindKey], &kind)
		}
		if err != nil {
			return errors.Wrapf(err, "models: config: %s: want a section with a kind", s.key)
		}
		delete(settings, kindKey)
		if err := s.read(kind, settings); err != nil {
			return errors.WithMessagef(err, "models: config: %s", s.key)
		}
	}
	return nil
}

func (z Zoo) readStream(into *stream.Design) func(string, map[string]json.RawMessage) error {
	return func(kind string, settings map[string]json.RawMessage) error {
		d, err := z.Stream(kind)
		if err == nil {
			*into, err = withSettings(d, settings)
		}
		return err
	}
}

func (z Zoo) readFeedForward(into *layers.FeedForwardDesign) func(string, map[string]json.RawMessage) error {
	return func(kind string, settings map[string]json.RawMessage) error {
		d, err := z.FeedForward(kind)
		if err == nil {
			*into, err = withSettings(d, settings)
		}
		return err
	}
}

// withSettings returns a design with the settings that JSON gives. It returns an error for a
// setting that the design does not have.
func withSettings[D any](design D, settings map[string]json.RawMessage) (D, error) {
	changed, err := takeSettings(design, settings)
	for key := range settings {
		return design, errors.Errorf("%s: unknown setting: a damaged file, or one of a newer program", key)
	}
	return changed, err
}

// takeSettings returns a design with the settings of the map that it has, and deletes these from
// the map.
func takeSettings[D any](design D, settings map[string]json.RawMessage) (D, error) {
	var err error
	changed := withChanges(design, func(v reflect.Value) {
		for _, s := range settingsOf(v.Type()) {
			if text, ok := settings[s.Key]; ok && err == nil {
				err = errors.Wrap(json.Unmarshal(text, v.FieldByIndex(s.Index).Addr().Interface()), s.Key)
				delete(settings, s.Key)
			}
		}
	})
	return changed, err
}
