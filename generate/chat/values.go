package chat

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/pkg/errors"
)

// orders remembers the order of the keys of JSON objects, which are Go maps in the template: Python
// keeps it, and tojson and items show it.
type orders map[uintptr][]string

// read returns a JSON text as maps, lists, strings, numbers, booleans and nil.
func (o *orders) read(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return o.value(decoder)
}

func (o *orders) value(decoder *json.Decoder) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		return o.object(decoder)
	case json.Delim('['):
		list := []any{}
		for decoder.More() {
			value, err := o.value(decoder)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err := decoder.Token()
		return list, err
	}
	if number, ok := token.(json.Number); ok {
		if whole, err := number.Int64(); err == nil {
			return int(whole), nil
		}
		return number.Float64()
	}
	return token, nil
}

func (o *orders) object(decoder *json.Decoder) (any, error) {
	object, keys := map[string]any{}, []string(nil)
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		key := token.(string) // the decoder refuses others
		value, err := o.value(decoder)
		if err != nil {
			return nil, err
		}
		if _, ok := object[key]; !ok {
			keys = append(keys, key)
		}
		object[key] = value
	}
	if *o == nil {
		*o = orders{}
	}
	(*o)[reflect.ValueOf(object).Pointer()] = keys
	_, err := decoder.Token()
	return object, err
}

// keys returns an object's keys in their order; those that a template has added come last, sorted.
func (o orders) keys(object map[string]any) []string {
	keys := slices.DeleteFunc(slices.Clone(o[reflect.ValueOf(object).Pointer()]), func(key string) bool {
		_, ok := object[key]
		return !ok
	})
	known := len(keys)
	for key := range object {
		if !slices.Contains(keys[:known], key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys[known:])
	return keys
}

// entries returns the keys and values of an object, or of one that a template writes.
func (o orders) entries(object any) (keys, values []any) {
	switch v := object.(type) {
	case map[string]any:
		for _, key := range o.keys(v) {
			keys, values = append(keys, key), append(values, v[key])
		}
	case *exec.Dict:
		for _, pair := range v.Pairs {
			keys, values = append(keys, pair.Key.Interface()), append(values, pair.Value.Interface())
		}
	}
	return keys, values
}

// items returns an object's pairs of key and value.
func (o orders) items(object any) []any {
	keys, values := o.entries(object)
	return list(len(keys), func(i int) any { return []any{keys[i], values[i]} })
}

// filters returns the filters that depend on the order of keys.
func (o orders) filters() *exec.FilterSet {
	return exec.NewFilterSet(map[string]exec.FilterFunction{
		"items": func(_ *exec.Evaluator, in *exec.Value, _ *exec.VarArgs) *exec.Value {
			if !in.IsDict() && !in.IsNil() {
				return exec.AsValue(errors.New("items: want an object"))
			}
			return exec.AsValue(o.items(in.Interface()))
		},
		"tojson": o.toJSON,
	})
}

// toJSON is the filter tojson.
func (o orders) toJSON(_ *exec.Evaluator, in *exec.Value, args *exec.VarArgs) *exec.Value {
	if in.IsError() {
		return in
	}
	indent := -1
	if v := args.GetKeywordArgument("indent", nil); v.IsInteger() {
		indent = v.Integer()
	}
	var out jsonWriter
	if err := out.write(o, in.Interface(), indent, 0); err != nil {
		return exec.AsValue(err)
	}
	return exec.AsSafeValue(out.String())
}

// methods returns the methods of objects.
func (o orders) methods() *exec.MethodSet[map[string]any] {
	return exec.NewMethodSet(map[string]exec.Method[map[string]any]{
		"items": func(_ map[string]any, self *exec.Value, _ *exec.VarArgs) (any, error) {
			return o.items(self.Interface()), nil
		},
		"keys": func(_ map[string]any, self *exec.Value, _ *exec.VarArgs) (any, error) {
			keys, _ := o.entries(self.Interface())
			return keys, nil
		},
		"values": func(_ map[string]any, self *exec.Value, _ *exec.VarArgs) (any, error) {
			_, values := o.entries(self.Interface())
			return values, nil
		},
		"get": func(_ map[string]any, self *exec.Value, args *exec.VarArgs) (any, error) {
			if value, ok := self.GetItem(args.First().String()); ok {
				return value.Interface(), nil
			}
			if len(args.Args) > 1 {
				return args.Args[1].Interface(), nil
			}
			return nil, nil
		},
	})
}
