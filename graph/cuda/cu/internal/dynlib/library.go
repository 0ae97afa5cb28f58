// Package dynlib opens shared libraries and calls their functions without cgo.
package dynlib

import (
	"github.com/ebitengine/purego"
	"github.com/pkg/errors"
)

// Library is an open shared library. It stays open until the program ends.
type Library struct {
	handle uintptr
	// Path is the argument of Open: a name that the loader resolved, or a file.
	Path string
}

// Func is the address of a C function whose arguments and result are integers and pointers.
type Func uintptr

// Symbol names a function of a library and says where to store its address.
type Symbol struct {
	Func *Func
	Name string
}

// Open opens the library with this name or path.
func Open(path string) (*Library, error) {
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return nil, err
	}
	return &Library{handle: handle, Path: path}, nil
}

// Bind finds the addresses of the symbols.
func (l *Library) Bind(symbols []Symbol) error {
	for _, s := range symbols {
		address, err := purego.Dlsym(l.handle, s.Name)
		if err != nil {
			return errors.Errorf("%s has no function %s", l.Path, s.Name)
		}
		*s.Func = Func(address)
	}
	return nil
}
