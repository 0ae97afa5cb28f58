package runconfig

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/residua-go/residua/internal/settings"
)

// Difference is a key that has other values in two configs, both in the notation of a config;
// "nothing" stands for a key that one of them does not have.
type Difference struct{ Key, Before, After string }

// Changes lists the differences between two configs, one line for each key: "train.lr: 0.001
// -> 0.0001". It leaves out the same keys as Differences.
func Changes(before, after *Run) ([]string, error) {
	differences, err := Differences(before, after)
	var changes []string
	for _, d := range differences {
		changes = append(changes, fmt.Sprintf("%s: %s -> %s", d.Key, d.Before, d.After))
	}
	return changes, err
}

// Differences lists the differences between two configs. It leaves out the folder, and values that
// follow from other keys in both configs.
func Differences(before, after *Run) ([]Difference, error) {
	old, err := leavesOf(before.asGiven())
	if err != nil {
		return nil, err
	}
	now, err := leavesOf(after.asGiven())
	if err != nil {
		return nil, err
	}
	was, is := textsOf(old), textsOf(now)
	var differences []Difference
	for _, leaf := range append(now, old...) {
		key := leaf.Key
		derived := slices.Contains(before.derived, key) && slices.Contains(after.derived, key)
		if key == "out" || derived || was[key] == is[key] {
			continue
		}
		d := Difference{key, cmp.Or(was[key], "nothing"), cmp.Or(is[key], "nothing")}
		if !slices.Contains(differences, d) {
			differences = append(differences, d)
		}
	}
	return differences, nil
}

// textsOf returns values in the notation of a config, by dotted key.
func textsOf(leaves []settings.Entry) map[string]string {
	texts := map[string]string{}
	for _, l := range leaves {
		texts[l.Key] = settings.Text(l.Value.Interface())
	}
	return texts
}
