//go:build linux

package main

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph/cuda/internal/source"
)

// options are the compiler options. compute_80 is the A100's architecture, the first with tensor
// cores for bfloat16 and TF32.
var options = []string{"--gpu-architecture=compute_80", "--std=c++17"}

// compiler is NVRTC, NVIDIA's runtime compiler of CUDA C++.
type compiler struct {
	major, minor int32

	version        func(major, minor *int32) int32
	errorString    func(code int32) string
	createProgram  func(program *uintptr, text, name string, headers int32, texts, names unsafe.Pointer) int32
	compileProgram func(program uintptr, n int32, options unsafe.Pointer) int32
	destroyProgram func(program *uintptr) int32
	ptxSize        func(program uintptr, n *uint64) int32
	ptx            func(program uintptr, text *byte) int32
	logSize        func(program uintptr, n *uint64) int32
	log            func(program uintptr, text *byte) int32
}

func loadCompiler() (*compiler, error) {
	lib, err := openNVRTC()
	if err != nil {
		return nil, err
	}
	c := &compiler{}
	for _, f := range []struct {
		target any
		name   string
	}{
		{&c.version, "nvrtcVersion"}, {&c.errorString, "nvrtcGetErrorString"},
		{&c.createProgram, "nvrtcCreateProgram"}, {&c.compileProgram, "nvrtcCompileProgram"}, {&c.destroyProgram, "nvrtcDestroyProgram"},
		{&c.ptxSize, "nvrtcGetPTXSize"}, {&c.ptx, "nvrtcGetPTX"}, {&c.logSize, "nvrtcGetProgramLogSize"}, {&c.log, "nvrtcGetProgramLog"},
	} {
		symbol, err := purego.Dlsym(lib, f.name)
		if err != nil {
			return nil, errors.Wrap(err, "NVRTC")
		}
		purego.RegisterFunc(f.target, symbol)
	}
	return c, c.check("version", c.version(&c.major, &c.minor))
}

// String returns the compiler's version and options.
func (c *compiler) String() string {
	return fmt.Sprintf("NVRTC %d.%d %s", c.major, c.minor, strings.Join(options, " "))
}

func (c *compiler) check(what string, code int32) error {
	if code == 0 {
		return nil
	}
	return errors.Errorf("NVRTC: %s: %s", what, c.errorString(code))
}

// compile compiles a file to PTX. The compiler gets the headers by name and text, so that it knows
// no path that could get into its output. log holds its messages about the source.
func (c *compiler) compile(u *source.Unit) (ptx, log string, err error) {
	names, texts := make([]string, len(u.Headers)), make([]string, len(u.Headers))
	for i, h := range u.Headers {
		names[i], texts[i] = h.Name, h.Text
	}
	cNames, cTexts, cOptions := newCStrings(names), newCStrings(texts), newCStrings(options)
	defer runtime.KeepAlive([]cStrings{cNames, cTexts, cOptions})
	var program uintptr
	err = c.check(u.Name, c.createProgram(&program, u.Text, u.Name, int32(len(names)), cTexts.pointer(), cNames.pointer()))
	if err != nil {
		return "", "", err
	}
	defer c.destroyProgram(&program)
	failed := c.check(u.Name, c.compileProgram(program, int32(len(options)), cOptions.pointer()))
	if log, err = c.text(program, c.logSize, c.log); err != nil {
		return "", "", err
	}
	log = clickable(strings.TrimSpace(log))
	if failed != nil {
		return "", log, failed
	}
	ptx, err = c.text(program, c.ptxSize, c.ptx)
	return ptx, log, err
}

// text fetches a text that NVRTC holds, without the zero byte that ends it.
func (c *compiler) text(program uintptr, size func(uintptr, *uint64) int32, fetch func(uintptr, *byte) int32) (string, error) {
	var n uint64
	if err := c.check("size of a text", size(program, &n)); err != nil || n == 0 {
		return "", err
	}
	buffer := make([]byte, n)
	if err := c.check("a text", fetch(program, &buffer[0])); err != nil {
		return "", err
	}
	return strings.TrimRight(string(buffer), "\x00"), nil
}

var place = regexp.MustCompile(`(?m)^([\w.]+\.cuh?)\((\d+)\):`)

// clickable rewrites the places in a log as file:line.
func clickable(log string) string { return place.ReplaceAllString(log, "$1:$2:") }

// cStrings is an array of C strings.
type cStrings []*byte

func newCStrings(texts []string) cStrings {
	c := make(cStrings, len(texts))
	for i, text := range texts {
		c[i] = unsafe.SliceData(append([]byte(text), 0))
	}
	return c
}

func (c cStrings) pointer() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(c)) }
