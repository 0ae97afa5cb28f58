package config

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/residua-go/residua/settings"
)

// Changes lists the differences between two configs, one line a key: "train.lr: 0.001 -> 0.0001".
// It leaves out the folder, and values that follow from other keys in both configs.
func Changes(before, after *Run) ([]string, error) {
	old, err := leavesOf(before)
	if err != nil {
		return nil, err
	}
	now, err := leavesOf(after)
	if err != nil {
		return nil, err
	}
	was, is := textsOf(old), textsOf(now)
	var changes []string
	for _, leaf := range append(now, old...) {
		key := leaf.Key
		derived := slices.Contains(before.derived, key) && slices.Contains(after.derived, key)
		if key == "out" || derived || was[key] == is[key] {
			continue
		}
		was, is := cmp.Or(was[key], "nothing"), cmp.Or(is[key], "nothing")
		if change := fmt.Sprintf("%s: %s -> %s", key, was, is); !slices.Contains(changes, change) {
			changes = append(changes, change)
		}
	}
	return changes, nil
}

// textsOf returns values in the notation of a config, by dotted key.
func textsOf(leaves []settings.Entry) map[string]string {
	texts := map[string]string{}
	for _, l := range leaves {
		texts[l.Key] = settings.Text(l.Value.Interface())
	}
	return texts
}
