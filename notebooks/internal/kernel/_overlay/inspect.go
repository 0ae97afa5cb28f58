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

// answerInspect tells what the name at the cursor is, by go doc.
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

// nameAt returns the name at the cursor, with what stands before its periods, or that of the
// function whose arguments are there; "" where there is neither.
func nameAt(before, after string) string {
	if name := nameBefore.FindString(before) + nameAfter.FindString(after); name != "" {
		return name
	}
	if call := callBefore.FindStringSubmatch(before); call != nil {
		return call[1]
	}
	return ""
}

// describe returns what is known of a name, such as trainer.Open or a variable's method; "" where
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

// describeType returns what go doc says of a member of a type, or of the type itself after what
// the interpreter says of the name.
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

// goDoc asks the go command in the folder of the kernel's module; "" where it knows nothing.
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
