package config

import (
	"fmt"
	"reflect"
	"slices"
)

// Changes lists what differs between two configs, a line a key: "train.lr: 0.001 -> 0.0001".
// Values that both derive from other keys follow those, and are left out, as is the folder.
func Changes(before, after *Run) ([]string, error) {
	s, err := schemaOf(reflect.TypeOf(*after))
	if err != nil {
		return nil, err
	}
	var changes []string
	old := valuesOf(before)
	s.walk(reflect.ValueOf(*after), func(key string, _ field, v reflect.Value) {
		derived := slices.Contains(before.derived, key) && slices.Contains(after.derived, key)
		if key == "out" || derived || v.Kind() == reflect.Struct || reflect.DeepEqual(old[key], v.Interface()) {
			return
		}
		changes = append(changes, fmt.Sprintf("%s: %s -> %s", key, valueText(reflect.ValueOf(old[key])), valueText(v)))
	})
	return changes, nil
}

// valueText is a value as a config holds it.
func valueText(v reflect.Value) string {
	w := &writer{schema: schema{}}
	if err := w.flow(v, ""); err != nil {
		return fmt.Sprint(v.Interface())
	}
	return w.text.String()
}
