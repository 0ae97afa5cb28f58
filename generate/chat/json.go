package chat

import (
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/pkg/errors"
)

// jsonWriter writes JSON as Python's json.dumps does with ensure_ascii=False.
type jsonWriter struct{ strings.Builder }

// write writes a value at a depth; a negative indent writes it in one line.
func (w *jsonWriter) write(o orders, value any, indent, depth int) error {
	switch v := value.(type) {
	case nil:
		w.WriteString("null")
	case bool:
		w.WriteString(strconv.FormatBool(v))
	case int:
		w.WriteString(strconv.Itoa(v))
	case float64:
		w.WriteString(pythonFloat(v))
	case string:
		return w.text(v)
	case map[string]any:
		keys := o.keys(v)
		return w.list(len(keys), '{', '}', indent, depth, func(i int) error {
			if err := w.text(keys[i]); err != nil {
				return err
			}
			w.WriteString(": ")
			return w.write(o, v[keys[i]], indent, depth+1)
		})
	case *exec.Dict: // as a template writes it
		return w.list(len(v.Pairs), '{', '}', indent, depth, func(i int) error {
			if err := w.text(v.Pairs[i].Key.String()); err != nil {
				return err
			}
			w.WriteString(": ")
			return w.write(o, v.Pairs[i].Value, indent, depth+1)
		})
	case *exec.Value:
		return w.write(o, v.Interface(), indent, depth)
	default:
		if list := reflect.ValueOf(value); list.Kind() == reflect.Slice {
			return w.list(list.Len(), '[', ']', indent, depth, func(i int) error { return w.write(o, list.Index(i).Interface(), indent, depth+1) })
		}
		return errors.Errorf("tojson: want an object, list, string, number, boolean or none, got a %T", value)
	}
	return nil
}

// list writes n entries between brackets.
func (w *jsonWriter) list(n int, open, end byte, indent, depth int, entry func(i int) error) error {
	w.WriteByte(open)
	for i := range n {
		if i > 0 {
			w.WriteByte(',')
		}
		switch {
		case indent >= 0:
			w.WriteString("\n" + strings.Repeat(" ", indent*(depth+1)))
		case i > 0:
			w.WriteByte(' ')
		}
		if err := entry(i); err != nil {
			return err
		}
	}
	if indent >= 0 && n > 0 {
		w.WriteString("\n" + strings.Repeat(" ", indent*depth))
	}
	w.WriteByte(end)
	return nil
}

// unescaped undoes two escapes that Go writes and Python does not. It passes over backslashes,
// which may stand before a text of the same letters.
var unescaped = strings.NewReplacer(`\\`, `\\`, `\u2028`, "\u2028", `\u2029`, "\u2029")

// text writes a string, with the characters escaped that Python escapes.
func (w *jsonWriter) text(s string) error {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(s); err != nil {
		return err
	}
	w.WriteString(unescaped.Replace(strings.TrimSuffix(out.String(), "\n")))
	return nil
}

// pythonFloat formats a number as Python's repr does.
func pythonFloat(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e16 {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	text := strconv.FormatFloat(v, 'g', -1, 64)
	if a := math.Abs(v); a >= 1e-4 && a < 1e16 {
		text = strconv.FormatFloat(v, 'f', -1, 64)
	}
	return text
}
