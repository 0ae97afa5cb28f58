package runconfig

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/residua-go/residua/internal/settings"
)

// textHead is the comment at the beginning of a run's config.yaml.
const textHead = "# What this run was made with. A line after # follows from other keys, and from them again when this file is read.\n"

// Text returns a run's config.yaml, which Parse reads as an equal Run. It has the keys that were
// given, and those whose defaults are constants, so that another default in a later version changes
// nothing. Derived values are comments: values that follow from other keys (min_lr from lr, vocab
// from the tokenizer; the tag from names the keys) and, with a preset, the preset's values for the
// model. So -set train.lr=1e-4 on this file also changes min_lr, and -set model.preset=rmt-46m
// changes the model's sizes. A preset's name means the same model in all versions.
//
// A derived value that has been changed since the run was read is written as given.
func (r *Run) Text() ([]byte, error) {
	hidden := r.derived
	for {
		text, err := settings.Marshal(r.asGiven(), hidden...)
		if err != nil || len(hidden) == 0 {
			return text, err
		}
		again := r.rederived(text, hidden)
		if len(again) == len(hidden) {
			return append([]byte(textHead), text...), nil
		}
		hidden = again
	}
}

// asGiven returns the run with the tokenizer that its config names.
func (r *Run) asGiven() *Run {
	given := *r
	given.Data.Tokenizer = r.Data.named()
	return &given
}

// rederived returns the hidden keys that keep their values: those whose values, when the text
// (which leaves them out) is read again, are the same as in r.
func (r *Run) rederived(text []byte, hidden []string) []string {
	file := "config.yaml"
	if r.Data.TokenizerName != "" { // the tokenizer is in a folder next to it
		file = filepath.Join(filepath.Dir(r.Data.Tokenizer), "..", file)
	}
	read, _, err := resolve(r.zoo, file, text, nil)
	if err != nil {
		return nil
	}
	have, got := valuesOf(r), valuesOf(read)
	return slices.DeleteFunc(slices.Clone(hidden), func(key string) bool {
		return !reflect.DeepEqual(have[key], got[key])
	})
}

// derivedKeys lists the keys of a run that were not given and follow from others.
func derivedKeys(run *Run, where *settings.Positions) ([]string, error) {
	entries, err := settings.Entries(*run)
	var derived []string
	whole := "\x00" // key prefix of an optional section that was given as a whole
	for _, e := range entries {
		fromPreset := run.Model.Preset != "" && strings.HasPrefix(e.Key, modelPrefix)
		switch given := where.Of(e.Key) != ""; {
		case given && e.Pointer:
			whole = e.Key + "."
		case given, e.Value.Kind() == reflect.Struct, strings.HasPrefix(e.Key, whole):
		case fromPreset, e.Tag.Get("from") != "":
			derived = append(derived, e.Key)
		}
	}
	return derived, err
}

// leavesOf lists the keys of a run that hold values and no further keys, in the order of
// declaration.
func leavesOf(run *Run) ([]settings.Entry, error) {
	entries, err := settings.Entries(*run)
	return slices.DeleteFunc(entries, func(e settings.Entry) bool { return e.Section }), err
}

// valuesOf returns a run's values by their dotted keys.
func valuesOf(run *Run) map[string]any {
	values := map[string]any{}
	leaves, _ := leavesOf(run) // a run that was read has no errors
	for _, l := range leaves {
		values[l.Key] = l.Value.Interface()
	}
	return values
}
