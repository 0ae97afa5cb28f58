package dynlib

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// cudaFolders lists, as patterns, where CUDA toolkits and Python packages keep libraries.
func cudaFolders() []string {
	var dirs []string
	if toolkit := os.Getenv("CUDA_HOME"); toolkit != "" {
		dirs = append(dirs, filepath.Join(toolkit, "lib64"))
	}
	dirs = append(dirs, "/usr/local/cuda*/lib64")
	for _, packages := range pythonPath() {
		dirs = append(dirs, filepath.Join(packages, "nvidia/*/lib"))
	}
	for _, prefix := range pythons() {
		for _, packages := range []string{"site-packages", "dist-packages"} {
			dirs = append(dirs, filepath.Join(prefix, packages, "nvidia/*/lib"))
		}
	}
	return dirs
}

// pythonPath asks python3, if there is one, from which folders it imports: nothing else may know
// its environment.
func pythonPath() []string {
	text, err := exec.Command("python3", "-c", `import sys; print("\n".join(d for d in sys.path if d.endswith("-packages")))`).Output()
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// pythons lists, as patterns, where a python3 keeps its packages.
func pythons() []string {
	prefixes := []string{"/usr/local/lib/python3*", "/usr/lib/python3*"}
	if home, err := os.UserHomeDir(); err == nil {
		prefixes = append([]string{filepath.Join(home, ".local/lib/python3*")}, prefixes...)
	}
	if environment := os.Getenv("VIRTUAL_ENV"); environment != "" {
		prefixes = append([]string{filepath.Join(environment, "lib/python3*")}, prefixes...)
	}
	return prefixes
}
