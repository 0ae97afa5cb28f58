package main

import "github.com/cosmos72/gomacro/imports"

// register lets notebooks import the packages of our tables. Of a package that gomacro has a
// table of, only what that lacks is added: it knows the interfaces that interpreted types may
// implement.
func register(tables map[string]imports.Package) {
	for path, table := range tables {
		known, there := imports.Packages[path]
		if !there {
			known = imports.Package{Name: table.Name}
		}
		known.LazyInit(path)
		add(known.Binds, table.Binds)
		add(known.Types, table.Types)
		add(known.Untypeds, table.Untypeds)
		add(known.Wrappers, table.Wrappers)
		imports.Packages[path] = known
	}
}

// add adds the entries that are not there.
func add[V any](into, from map[string]V) {
	for name, value := range from {
		if _, there := into[name]; !there {
			into[name] = value
		}
	}
}
