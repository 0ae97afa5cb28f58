package settings

import (
	"reflect"
	"strings"
)

// alike stores the entries of a map in a struct of the kind that the section at key other has. It
// starts from a copy of v's struct if that is of the kind, otherwise from zero values.
func (d *decoder) alike(at spot, v reflect.Value, other string) error {
	if isForm(at.node, formNull) {
		v.SetZero()
		return nil
	}
	model := d.root
	for _, name := range strings.Split(other, ".") {
		f, _ := d.schema.find(model.Type(), name)
		model = model.FieldByIndex(f.Index)
	}
	if model.IsNil() {
		return d.errorAt(at.line, at.key, "want nothing without %s, whose kind it has", other)
	}
	fresh := reflect.New(model.Elem().Type()).Elem()
	if !v.IsNil() && v.Elem().Type() == fresh.Type() {
		fresh.Set(v.Elem())
	}
	err := d.value(at, fresh)
	if err == nil {
		v.Set(fresh)
	}
	return err
}
