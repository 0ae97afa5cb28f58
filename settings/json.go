package settings

import (
	"encoding/json"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/pkg/errors"
)

// DecodeJSON reads one JSON object into the struct that v points to, whose fields have the tags that Reader.Read knows: a key is
// known, given once and within its bounds, or else the error is an *Error that names it. A field whose type has UnmarshalJSON
// reads itself, and null leaves a field as it is. The text is read as it comes; no more than one value of a field is held at a
// time.
func DecodeJSON(r io.Reader, v any) error {
	target, err := structOf(v)
	if err != nil {
		return err
	}
	s, err := schemaOf(target, nil)
	if err != nil {
		return err
	}
	d := jsonDecoder{Decoder: json.NewDecoder(r), schema: s}
	if err := d.object("", target); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return &Error{Problem: "want one JSON object, got more after it"}
	}
	return nil
}

type jsonDecoder struct {
	*json.Decoder
	schema schema
}

// open reads the bracket that begins the value of a key; null tells that the value is null.
func (d jsonDecoder) open(key string, bracket json.Delim, want string) (null bool, err error) {
	switch token, err := d.Token(); {
	case err != nil:
		return false, d.broken(key, err)
	case token == nil && key != "":
		return true, nil
	case token != bracket:
		return false, &Error{Key: key, Problem: "want " + want + ", got " + jsonName(token)}
	}
	return false, nil
}

// object reads the struct v, the value of key.
func (d jsonDecoder) object(key string, v reflect.Value) error {
	return d.entries(key, func(name, full string) error {
		f, known := d.schema.find(v.Type(), name)
		if !known {
			return &Error{Key: full, Problem: "unknown key" + nearest(name, d.schema.names(v.Type())), Unknown: true}
		}
		if err := d.value(full, v.FieldByIndex(f.index)); err != nil {
			return err
		}
		if problem := outOfBounds(f, v.FieldByIndex(f.index)); problem != "" {
			return &Error{Key: full, Problem: problem}
		}
		return nil
	})
}

// entries calls read for each key of an object, which reads its value.
func (d jsonDecoder) entries(key string, read func(name, full string) error) error {
	if null, err := d.open(key, '{', "a JSON object"); null || err != nil {
		return err
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return d.broken(key, err)
		}
		name := token.(string) // of a key, by the decoder
		full := joined(key, name)
		if seen[name] {
			return &Error{Key: full, Problem: "given twice"}
		}
		seen[name] = true
		if err := read(name, full); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return d.broken(key, err)
}

// value reads v, the value of key.
func (d jsonDecoder) value(key string, v reflect.Value) error {
	if reflect.PointerTo(v.Type()).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return d.broken(key, d.Decode(v.Addr().Interface()))
	}
	switch kind := v.Kind(); {
	case isText(v.Type()):
		return d.whole(key, v)
	case kind == reflect.Struct:
		return d.object(key, v)
	case kind == reflect.Map:
		return d.mapping(key, v)
	case kind == reflect.Slice && pointee(v.Type().Elem()).Kind() == reflect.Struct:
		return d.list(key, v)
	case kind == reflect.Pointer && v.Type().Elem().Kind() == reflect.Struct:
		fresh := reflect.New(v.Type().Elem())
		if err := d.object(key, fresh.Elem()); err != nil {
			return err
		}
		v.Set(fresh)
		return nil
	}
	return d.whole(key, v)
}

// whole reads a value that holds no keys.
func (d jsonDecoder) whole(key string, v reflect.Value) error {
	err := d.Decode(v.Addr().Interface())
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return &Error{Key: key, Problem: "want " + wantKind(pointee(v.Type())) + ", got " + wrong.Value}
	}
	return d.broken(key, err)
}

// mapping reads the entries of a map.
func (d jsonDecoder) mapping(key string, v reflect.Value) error {
	fresh := reflect.MakeMap(v.Type())
	err := d.entries(key, func(name, full string) error {
		item := reflect.New(v.Type().Elem()).Elem()
		if err := d.value(full, item); err != nil {
			return err
		}
		fresh.SetMapIndex(reflect.ValueOf(name).Convert(v.Type().Key()), item)
		return nil
	})
	if err == nil {
		v.Set(fresh)
	}
	return err
}

// list reads the structs of a list.
func (d jsonDecoder) list(key string, v reflect.Value) error {
	if null, err := d.open(key, '[', "an array"); null || err != nil {
		return err
	}
	v.SetZero()
	for i := 0; d.More(); i++ {
		item := reflect.New(v.Type().Elem()).Elem()
		if err := d.value(key+"["+strconv.Itoa(i)+"]", item); err != nil {
			return err
		}
		v.Set(reflect.Append(v, item))
	}
	_, err := d.Token()
	return d.broken(key, err)
}

// broken is the error of a text that is no JSON. Errors of reading, and of values that read themselves, are kept.
func (d jsonDecoder) broken(key string, err error) error {
	var syntax *json.SyntaxError
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return &Error{Key: key, Problem: "want a JSON object, got a text that ends before it does"}
	case errors.As(err, &syntax):
		return &Error{Key: key, Problem: "want a JSON object, got something else: " + strings.TrimPrefix(syntax.Error(), "json: ")}
	}
	return err
}

// jsonName names a token.
func jsonName(token json.Token) string {
	switch token.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "true or false"
	case float64:
		return "a number"
	}
	if token == json.Delim('[') {
		return "an array"
	}
	return "an object"
}
