package runconfig

import (
	"slices"
	"strings"

	"github.com/residua-go/residua/internal/settings"
)

// Canonical returns a text that describes what a run computes, with one line a key, sorted by name:
// every value, including defaults, whether it was given, comes from a preset or follows from
// others. Its digest identifies the run in the logs of experiments, so its form, version 1, must
// not change. It leaves out the name, the folder, the preset (whose model is written out), the
// seed, which logs have separately, and train.keep_log, which changes no result.
//
// A key that is newer than the form has the tag added, with the value that makes a program
// behave as it did without the key. A key with that value is left out, so that a new key does
// not change existing identities. For a section with a kind, the tag gives the value of its
// key kind.
func (r *Run) Canonical() (string, error) {
	entries, err := settings.Entries(*r)
	var lines []string
	sections := map[string]string{} // the sections' tags
	for _, e := range entries {
		added, isNew := e.Tag.Lookup("added")
		if e.Section {
			sections[e.Key+"."+settings.KindKey] = added
			continue
		}
		text := settings.Text(e.Value.Interface())
		isOld := isNew && text == added || sections[e.Key] != "" && text == sections[e.Key]
		if !isOld && !slices.Contains([]string{"name", "out", "seed", "model.preset", "train.keep_log"}, e.Key) {
			lines = append(lines, e.Key+": "+text)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n"), err
}
