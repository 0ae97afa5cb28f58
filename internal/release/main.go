// Command release builds the archives of a release into a folder: static programs for Linux, macOS
// and Windows, with CUDA for Linux, each with its licence files, and their SHA-256 sums. Building
// one commit twice with one Go release gives the same bytes. It starts each program that this
// machine can run, natively or by qemu-user or Wine, and says which it could not.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/pkg/errors"
)

// target is one archive's system, processor and build tags.
type target struct{ os, arch, tags string }

func targets() []target {
	return []target{
		{"linux", "amd64", ""}, {"linux", "arm64", ""}, {"darwin", "amd64", ""}, {"darwin", "arm64", ""},
		{"windows", "amd64", ""}, {"windows", "arm64", ""}, {"linux", "amd64", "cuda"}, {"linux", "arm64", "cuda"},
	}
}

// String names a target, as in "linux_amd64_cuda".
func (t target) String() string { return strings.TrimSuffix(t.os+"_"+t.arch+"_"+t.tags, "_") }

func main() {
	out := flag.String("out", "dist", "folder of the archives")
	only := flag.String("only", "", "build only the target of this name, as linux_amd64_cuda")
	flag.Parse()
	if err := release(*out, *only); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release builds, archives and starts each target's program.
func release(out, only string) error {
	version, err := output("git", "describe", "--tags", "--always", "--dirty")
	if err != nil {
		return err
	}
	seconds, err := output("git", "log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	stamp, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return errors.WithStack(err)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for _, t := range targets() {
		if only != "" && t.String() != only {
			continue
		}
		if err := one(t, out, "residua_"+strings.TrimPrefix(version, "v"), time.Unix(stamp, 0).UTC()); err != nil {
			return errors.Wrap(err, t.String())
		}
	}
	return writeSums(out)
}

// one makes a target's archive; the name is its beginning.
func one(t target, out, name string, stamp time.Time) error {
	dir, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "residua")
	if t.os == "windows" {
		program += ".exe"
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-tags="+t.tags, "-o", program, "./cmd/residua")
	compiler := t.crossCompiler()
	if _, err := exec.LookPath(compiler); compiler != "" && err != nil {
		fmt.Printf("%s: not built: want %s\n", t, compiler)
		return nil
	}
	build.Env = append(os.Environ(), "GOOS="+t.os, "GOARCH="+t.arch, "CGO_ENABLED="+map[string]string{"cuda": "1", "": "0"}[t.tags])
	if compiler != "" {
		build.Env = append(build.Env, "CC="+compiler)
	}
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return errors.Wrap(err, "go build")
	}
	said, err := start(t, program)
	if err != nil {
		return err
	}
	files := []string{program, "LICENSE", "NOTICE", "README.md"}
	archive := filepath.Join(out, name+"_"+t.String())
	if t.os == "windows" {
		archive += ".zip"
		err = writeZip(archive, files, stamp)
	} else {
		archive += ".tar.gz"
		err = writeTar(archive, files, stamp)
	}
	fmt.Printf("%s: %s\n", archive, said)
	return err
}

// start runs the program for its version where this machine can, and returns what came out.
func start(t target, program string) (string, error) {
	var runner []string
	switch {
	case t.os == runtime.GOOS && t.arch == runtime.GOARCH:
	case t.os == "linux" && runtime.GOOS == "linux":
		runner = []string{"qemu-" + t.machine() + "-static", "-L", "/usr/" + t.machine() + "-linux-gnu"} // the C library of CUDA's archive
	case t.os == "windows" && t.arch == runtime.GOARCH:
		runner = []string{"wine"}
	default:
		return "not started: nothing on " + runtime.GOOS + " runs it", nil
	}
	if len(runner) > 0 {
		if _, err := exec.LookPath(runner[0]); err != nil {
			return "not started: want " + runner[0], nil
		}
		if version, _ := output(runner[0], "--version"); tooOldWine(version) {
			return "not started: want Wine 9 or newer, which has the bcryptprimitives.dll that Go's programs load, got " + version, nil
		}
	}
	call := append(runner, program, "version")
	said, err := output(call[0], call[1:]...)
	return strings.TrimSpace(said), errors.Wrap(err, "starting it")
}

// crossCompiler returns the C compiler that a target needs beyond the machine's own, by the name
// that Debian and Ubuntu give it; "" if it needs none. Only CUDA's archives need one, because
// Gorgonia's own CUDA package imports "C".
func (t target) crossCompiler() string {
	if t.tags != "cuda" || t.os == runtime.GOOS && t.arch == runtime.GOARCH {
		return ""
	}
	return t.machine() + "-linux-gnu-gcc"
}

// machine returns the processor's name in GNU's tools.
func (t target) machine() string {
	return map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[t.arch]
}

// tooOldWine tells whether a version is one of Wine before 9.
func tooOldWine(version string) bool {
	var major int
	n, _ := fmt.Sscanf(version, "wine-%d", &major)
	return n == 1 && major < 9
}

// output runs a command and returns what it printed, without the white space around it.
func output(name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	c.Stderr = os.Stderr
	text, err := c.Output()
	return strings.TrimSpace(string(text)), errors.Wrap(err, name)
}
