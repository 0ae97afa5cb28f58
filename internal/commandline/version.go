package commandline

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
)

// isVersion tells whether an argument asks for the program's version.
func isVersion(arg string) bool {
	return slices.Contains([]string{"-version", "--version", "version"}, arg)
}

// version returns the command that prints which program this is: its version, the commit it was
// built from, its build tags, and the Go release and processor it was built for.
func (s Suite) version() Command {
	return Command{Name: s.Name + " version", Run: func(_ context.Context, out Output) error {
		info, _ := debug.ReadBuildInfo()
		return out.Print(fmt.Sprintf("%s %s, %s %s/%s\n", s.Name, built(info), runtime.Version(), runtime.GOOS, runtime.GOARCH))
	}}
}

// built describes a build: the module's version, and the commit and tags where they are known.
func built(info *debug.BuildInfo) string {
	if info == nil {
		return "of no known version"
	}
	text := info.Main.Version
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			text += " of commit " + s.Value[:min(12, len(s.Value))]
		case "vcs.modified":
			if s.Value == "true" {
				text += " with changes"
			}
		case "-tags":
			text += " with tags " + s.Value
		}
	}
	return text
}
