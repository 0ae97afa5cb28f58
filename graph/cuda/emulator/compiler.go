//go:build cuda

package emulator

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/pkg/errors"
	"golang.org/x/sys/cpu"
)

// compiler is the C++ compiler: $CXX, or g++.
type compiler struct {
	path     string
	identity string // version and machine
}

func findCompiler() (compiler, error) {
	name := os.Getenv("CXX")
	if name == "" {
		name = "g++"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return compiler{}, errors.Errorf("tests of the CUDA backend without a GPU need a C++ compiler: want %s, got none; install it (Debian: apt install g++), name one in CXX, or set RESIDUA_GPU=1 on a machine with a GPU", name)
	}
	version, err := exec.Command(path, "--version").Output()
	return compiler{path: path, identity: path + string(version)}, errors.Wrapf(err, "%s --version", path)
}

// flags returns the compiler flags for an object. Kernels are compiled to trap if an index is
// outside its array or an access is not aligned.
func (c compiler) flags(o *object) []string {
	flags := []string{"-std=c++17", "-O2", "-fPIC", "-Wall", "-fvisibility=hidden"}
	if runtime.GOARCH == "amd64" && cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		flags = append(flags, "-mavx2", "-mfma")
	}
	switch {
	case o.kernel:
		flags = append(flags, "-fno-strict-aliasing", "-Wno-unknown-pragmas", "-Wno-sign-compare",
			"-fsanitize=alignment,bounds", "-fsanitize-undefined-trap-on-error")
	case o.Name == "blas.cpp":
		flags = append(flags, "-O3")
	}
	return flags
}

// wrapper is the file in which a kernel file is compiled: in an unnamed namespace, so that
// functions and shared memory of two files never clash, and followed by the registration of its
// kernels.
const wrapper = `#define EMULATOR_UNIT %s
#include "emulator.h"
namespace {
#include "%s"
%s}
`

// compile makes an object, which gets its path when it is complete. It uses the texts from which
// the path was computed, even if the files have changed since.
func (c compiler) compile(o *object) error {
	folder, err := os.MkdirTemp(filepath.Dir(o.path), "compiling-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if err := o.write(folder); err != nil {
		return err
	}
	input := filepath.Join(folder, o.Name)
	args := append(c.flags(o), "-fmacro-prefix-map="+folder+"/=")
	if o.kernel {
		input = filepath.Join(folder, o.unit()+".cpp")
		if err := c.wrap(o, input, args); err != nil {
			return err
		}
	}
	output := filepath.Join(folder, "object.o")
	if err := c.run(o.Name, folder, append(args, "-c", input, "-o", output)...); err != nil {
		return err
	}
	return os.Rename(output, o.path)
}

// write writes an object's sources into a folder.
func (o *object) write(folder string) error {
	for _, f := range o.files() {
		if err := os.WriteFile(filepath.Join(folder, f.Name), []byte(f.Text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// kernelLine matches KERNEL(...) in preprocessed source.
var kernelLine = regexp.MustCompile(`extern "C" void\s+(\w+)\s*\(`)

// wrap writes the file that is compiled for a kernel file. It writes twice, since it finds the
// kernels' names by preprocessing the first version.
func (c compiler) wrap(o *object, path string, flags []string) error {
	write := func(registrations string) error {
		return os.WriteFile(path, fmt.Appendf(nil, wrapper, o.unit(), o.Name, registrations), 0o644)
	}
	if err := write(""); err != nil {
		return err
	}
	folder := filepath.Dir(path)
	preprocessed := filepath.Join(folder, "preprocessed")
	if err := c.run(o.Name, folder, append(flags, "-E", "-P", path, "-o", preprocessed)...); err != nil {
		return err
	}
	text, err := os.ReadFile(preprocessed)
	if err != nil {
		return err
	}
	var registrations strings.Builder
	for _, match := range kernelLine.FindAllSubmatch(text, -1) {
		fmt.Fprintf(&registrations, "EMULATOR_REGISTER(%s);\n", match[1])
	}
	return write(registrations.String())
}

// link makes a library from objects and further arguments.
func (c compiler) link(output string, args ...string) error {
	name := filepath.Base(output)
	args = append([]string{"-shared", "-o", output, "-Wl,-soname," + name, "-Wl,-z,defs"}, args...)
	return c.run(name, filepath.Dir(output), args...)
}

// run runs the compiler; its messages are in the error, without the name of the temporary folder.
func (c compiler) run(what, folder string, args ...string) error {
	output, err := exec.Command(c.path, args...).CombinedOutput()
	if err == nil {
		return nil
	}
	const most = 4000
	text := strings.ReplaceAll(string(output), folder+"/", "")
	return errors.Errorf("compiling %s for the emulator: %v\n%s", what, err, text[:min(len(text), most)])
}
