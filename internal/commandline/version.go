package commandline

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/internal/build"
)

// isVersion tells whether an argument asks for the program's version.
func isVersion(arg string) bool {
	return slices.Contains([]string{"-version", "--version", "version"}, arg)
}

// version returns the command that prints which program this is: its version, the commit it was
// built from, its build tags, the Go release and processor it was built for, and on the next line
// the instructions by which it multiplies matrices on this machine.
func (s Suite) version() Command {
	return Command{Name: s.Name + " version", Run: func(_ context.Context, out Output) error {
		return out.Print(fmt.Sprintf("%s %s, %s %s/%s\nmultiplies %s\n", s.Name, build.Describe(), runtime.Version(), runtime.GOOS, runtime.GOARCH,
			kernel.Instructions()))
	}}
}
