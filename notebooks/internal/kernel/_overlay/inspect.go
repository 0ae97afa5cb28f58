package main

import (
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	interp "github.com/cosmos72/gomacro/fast"
	"github.com/cosmos72/gomacro/xreflect"
)

// answerInspect shows the documentation of the name at the cursor, by go doc.
func (kernel *Kernel) answerInspect(receipt msgReceipt) {
	content := map[string]any{"status": "ok", "found": false, "data": map[string]any{}, "metadata": map[string]any{}}
	if description := describe(kernel.ir.Comp, nameAt(receipt.aroundCursor())); description != "" {
		content["found"] = true
		content["data"] = map[string]any{"text/plain": description}
	}
	if err := receipt.Reply("inspect_reply", content); err != nil {
		log.Println(err)
	}
}

var (
	nameBefore = regexp.MustCompile(`[\pL_][\pL\d_.]*$`)
	nameAfter  = regexp.MustCompile(`^[\pL\d_]*`)
	callBefore = regexp.MustCompile(`([\pL_][\pL\d_.]*)\([^()]*$`)
)

// nameAt returns the name at the cursor, with the qualifiers before it, or the name of the function
// whose arguments are there; "" if there is neither.
func nameAt(before, after string) string {
	if name := nameBefore.FindString(before) + nameAfter.FindString(after); name != "" {
		return name
	}
	if call := callBefore.FindStringSubmatch(before); call != nil {
		return call[1]
	}
	return ""
}

// describe returns what is known about a name, such as trainer.Open or a variable's method; "" if
// no cell has declared it.
func describe(c *interp.Comp, name string) string {
	first, members, hasMembers := strings.Cut(name, ".")
	symbol := c.TryResolve(first)
	if symbol == nil {
		if t := c.TryResolveType(first); t != nil {
			return describeType(first, "type "+first+" "+t.Kind().String(), t, members)
		}
		return ""
	}
	switch value := symbol.Bind.Value.(type) {
	case *interp.Import:
		if !hasMembers {
			return goDoc(value.Path)
		}
		return goDoc(value.Path + "." + members)
	case interp.Builtin:
		return goDoc("-u", "builtin."+first)
	}
	return describeType(first, first+" "+symbol.Type.String(), symbol.Type, members)
}

// describeType returns the output of go doc for a member of a type; or for the type itself, after
// what the interpreter says about the name.
func describeType(name, known string, t xreflect.Type, members string) string {
	if t.Kind() == reflect.Pointer && t.Name() == "" {
		t = t.Elem()
	}
	path := t.PkgPath()
	switch compiled := path != "" && path != "main"; {
	case compiled && members != "":
		return goDoc(path + "." + t.Name() + "." + members)
	case compiled:
		return known + "\n\n" + goDoc(path+"."+t.Name())
	case members != "":
		return ""
	}
	if builtin := goDoc("-u", "builtin."+name); builtin != "" {
		return builtin
	}
	return known
}

// goDoc runs go doc in the folder of the kernel's module; it returns "" if that finds nothing.
func goDoc(arguments ...string) string {
	program, err := os.Executable()
	if err != nil {
		return ""
	}
	command := exec.Command("go", append([]string{"doc"}, arguments...)...)
	command.Dir = filepath.Join(filepath.Dir(program), "..", "..", "..", "kernel")
	command.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	text, err := command.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
