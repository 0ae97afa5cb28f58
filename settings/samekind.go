package settings

import (
	"reflect"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// alike stores the entries of a map in a struct of the kind that the section at key other has.
func (d *decoder) alike(n ast.Node, line int, key string, v reflect.Value, other string) error {
	if isNull(n) {
		v.SetZero()
		return nil
	}
	fresh, err := d.startAlike(line, key, v, other)
	if err == nil {
		err = d.value(n, line, key, fresh)
	}
	if err == nil {
		v.Set(fresh)
	}
	return err
}

// startAlike returns a copy of v's struct if it is of the other section's kind, else one of zeros.
func (d *decoder) startAlike(line int, key string, v reflect.Value, other string) (reflect.Value, error) {
	model := d.root
	for _, name := range strings.Split(other, ".") {
		f, _ := d.schema.find(model.Type(), name)
		model = model.FieldByIndex(f.Index)
	}
	switch {
	case model.IsNil():
		return v, d.errorAt(line, key, "want nothing without %s, whose kind it has", other)
	case !v.IsNil() && v.Elem().Type() == model.Elem().Type():
		return structCopy(v.Elem()), nil
	}
	return reflect.New(model.Elem().Type()).Elem(), nil
}
