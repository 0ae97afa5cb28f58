package config

import (
	"slices"
	"strings"

	"github.com/residua-go/residua/settings"
)

// Canonical is what a run computes as text, a line a key in the order of their names: every value,
// defaults included, whether it was given, is a preset's or follows from others. Its digest is the
// run's identity in the logs of experiments, so its form, version 1, stays as it is. The name, the
// folder, the preset, whose model is written out, and the seed, which logs have by itself, are left
// out.
//
// A key that is newer than the form has the tag added: the value that does what the program did
// without the key. A key with that value is left out, so that a new key changes no identity. The
// tag of a section that has a kind stands for its key kind.
func (r *Run) Canonical() (string, error) {
	entries, err := settings.Entries(*r)
	var lines []string
	sections := map[string]string{} // their tags
	for _, e := range entries {
		added, isNew := e.Tag.Lookup("added")
		if e.Section {
			sections[e.Key+"."+settings.KindKey] = added
			continue
		}
		text := settings.Text(e.Value.Interface())
		isOld := isNew && text == added || sections[e.Key] != "" && text == sections[e.Key]
		if !isOld && !slices.Contains([]string{"name", "out", "seed", "model.preset"}, e.Key) {
			lines = append(lines, e.Key+": "+text)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n"), err
}
