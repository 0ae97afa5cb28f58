package settings

import (
	"encoding/json"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/spelling"
)

// DecodeJSON reads one JSON object into the struct that v points to, whose fields have the tags
// that Reader.Read uses. If a key is unknown, given twice, tagged local or out of bounds, the error
// is an *Error that names it. A field whose type has UnmarshalJSON decodes itself, and null leaves
// a field unchanged. DecodeJSON reads the text as it arrives and holds no more than one field's
// value at a time.
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

// object reads the struct v, the value of key.
func (d jsonDecoder) object(key string, v reflect.Value) error {
	_, err := d.members(key, '{', "a JSON object", func(full, name string) error {
		f, known := d.schema.find(v.Type(), name)
		if !known {
			return &Error{Key: full, Problem: "unknown key" + spelling.Hint(name, d.schema.names(v.Type())), Unknown: true}
		}
		if f.Tag.Get("local") != "" {
			return &Error{Key: full, Problem: "cannot be set in JSON: it names files; use the command's flag"}
		}
		if err := d.value(full, v.FieldByIndex(f.Index)); err != nil {
			return err
		}
		if problem := outOfBounds(f, v.FieldByIndex(f.Index)); problem != "" {
			return &Error{Key: full, Problem: problem}
		}
		return nil
	})
	return err
}

// members calls read for each member of an object or array, which starts with bracket and is the
// value of key; read decodes the member's value. given is false if the value is null.
func (d jsonDecoder) members(key string, bracket json.Delim, want string, read func(full, name string) error) (given bool, err error) {
	var wrong *json.UnmarshalTypeError
	switch token, err := d.Token(); {
	case errors.As(err, &wrong): // a number that is too large for a float64
		return false, &Error{Key: key, Problem: "want " + want + ", got " + wrong.Value}
	case err != nil:
		return false, d.broken(key, err)
	case token == nil && key != "":
		return false, nil
	case token != bracket:
		return false, &Error{Key: key, Problem: "want " + want + ", got " + jsonName(token)}
	}
	seen := map[string]bool{}
	for i := 0; d.More(); i++ {
		full, name := key+"["+strconv.Itoa(i)+"]", ""
		if bracket == '{' {
			token, err := d.Token()
			if err != nil {
				return false, d.broken(key, err)
			}
			name = token.(string) // the decoder returns keys as strings
			full = joined(key, name)
			if seen[name] {
				return false, &Error{Key: full, Problem: "given twice"}
			}
			seen[name] = true
		}
		if err := read(full, name); err != nil {
			return false, err
		}
	}
	_, err = d.Token()
	return true, d.broken(key, err)
}

// value reads v, the value of key.
func (d jsonDecoder) value(key string, v reflect.Value) error {
	t := v.Type()
	switch k := t.Kind(); {
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		return d.broken(key, d.Decode(v.Addr().Interface()))
	case k == reflect.Map || k == reflect.Slice && (isText(t) || pointee(t.Elem()).Kind() == reflect.Struct):
		return d.several(key, v)
	case isText(t):
		return d.whole(key, v)
	case k == reflect.Struct:
		return d.object(key, v)
	case k == reflect.Pointer && t.Elem().Kind() == reflect.Struct:
		fresh := reflect.New(t.Elem())
		if err := d.object(key, fresh.Elem()); err != nil {
			return err
		}
		v.Set(fresh)
		return nil
	}
	return d.whole(key, v)
}

// whole reads a value that contains no keys.
func (d jsonDecoder) whole(key string, v reflect.Value) error {
	err := d.Decode(v.Addr().Interface())
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return &Error{Key: key, Problem: "want " + wantKind(pointee(v.Type())) + ", got " + wrong.Value}
	}
	return d.broken(key, err)
}

// several reads the entries of a map, of a list of structs, or of a list that other formats write
// as a text.
func (d jsonDecoder) several(key string, v reflect.Value) error {
	t := v.Type()
	bracket, want, fresh := json.Delim('['), "an array", reflect.New(t).Elem()
	if t.Kind() == reflect.Map {
		bracket, want, fresh = '{', "a JSON object", reflect.MakeMap(t)
	}
	given, err := d.members(key, bracket, want, func(full, name string) error {
		item := reflect.New(t.Elem()).Elem()
		if err := d.value(full, item); err != nil {
			return err
		}
		if t.Kind() == reflect.Map {
			fresh.SetMapIndex(reflect.ValueOf(name).Convert(t.Key()), item)
		} else {
			fresh.Set(reflect.Append(fresh, item))
		}
		return nil
	})
	if given && err == nil {
		v.Set(fresh)
	}
	return err
}

// broken returns the error for invalid JSON. It keeps errors of the reader and of values that
// decode themselves.
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

// jsonName returns a name for the kind of a token.
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
