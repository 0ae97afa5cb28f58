package config

import (
	"reflect"
	"slices"
	"strings"

	"github.com/residua-go/residua/settings"
)

// textHead begins the config.yaml of a run.
const textHead = "# What this run was made with. A line after # follows from other keys, and from them again when this file is read.\n"

// Text returns a run's config.yaml: a config that Parse makes an equal Run of. It holds
// the keys that were given, and those whose defaults are constants, so that another
// default in a later version changes nothing. What was derived is a comment: values that
// follow from other keys (min_lr from lr, vocab from the tokenizer; the tag from names
// them) and, with a preset, what the preset gives the model. So -set train.lr=1e-4 on
// this file moves min_lr too, and -set model.preset=rmt-46m changes the model's sizes. A
// preset's name means the same model in all versions.
//
// A value that was derived when the run was read and has been changed since is written.
func (r *Run) Text() ([]byte, error) {
	hidden := r.derived
	for {
		text, err := settings.Marshal(r, hidden...)
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

// rederived returns those of the hidden keys that get the value that they have in r when
// the text, which leaves them out, is read.
func (r *Run) rederived(text []byte, hidden []string) []string {
	read, _, err := resolve(r.zoo, "config.yaml", text, nil)
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
	whole := "\x00" // prefix of the keys in an optional section that was given as a whole
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

// leavesOf lists the keys of a run that hold no further ones, in the order of declaration.
func leavesOf(run *Run) ([]settings.Entry, error) {
	entries, err := settings.Entries(*run)
	return slices.DeleteFunc(entries, func(e settings.Entry) bool { return e.Section }), err
}

// valuesOf returns a run's values by their dotted keys.
func valuesOf(run *Run) map[string]any {
	values := map[string]any{}
	leaves, _ := leavesOf(run) // of a run that was read there is no error
	for _, l := range leaves {
		values[l.Key] = l.Value.Interface()
	}
	return values
}
