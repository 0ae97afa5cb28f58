// Package build says which build of a program runs.
package build

import "runtime/debug"

// Describe returns the version of the main module, and its commit and build tags where they are
// known, as in "v0.2.0 of commit 0123456789ab".
func Describe() string {
	info, _ := debug.ReadBuildInfo()
	return describe(info)
}

func describe(info *debug.BuildInfo) string {
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
