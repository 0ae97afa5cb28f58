//go:build cuda

// Package nccl binds NVIDIA's NCCL at run time: collectives between the GPUs of several processes.
// It loads the library that the environment variable RESIDUA_NCCL names, else libnccl.so.2 where
// the dynamic loader finds libraries, in a CUDA toolkit's folders and in those of Python packages
// that contain it.
package nccl

import (
	"bytes"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"github.com/pkg/errors"
	"gorgonia.org/cu"
)

// oldest is the oldest version of NCCL that may be used, in the format of ncclGetVersion: the first
// with the fields of config.
const oldest = 21800

// library holds the functions of the open library.
type library struct {
	path    string
	version int

	getVersion, getUniqueID, initRank, asyncError, abort cu.Func
	reduce, broadcast, groupStart, groupEnd              cu.Func
	errorString, lastError                               cu.Func
}

// symbols lists the functions with the names under which the library exports them.
func (l *library) symbols() []cu.Symbol {
	return []cu.Symbol{
		{Func: &l.getVersion, Name: "ncclGetVersion"},
		{Func: &l.getUniqueID, Name: "ncclGetUniqueId"},
		{Func: &l.initRank, Name: "ncclCommInitRankConfig"},
		{Func: &l.asyncError, Name: "ncclCommGetAsyncError"},
		{Func: &l.abort, Name: "ncclCommAbort"},
		{Func: &l.reduce, Name: "ncclReduce"},
		{Func: &l.broadcast, Name: "ncclBroadcast"},
		{Func: &l.groupStart, Name: "ncclGroupStart"},
		{Func: &l.groupEnd, Name: "ncclGroupEnd"},
		{Func: &l.errorString, Name: "ncclGetErrorString"},
		{Func: &l.lastError, Name: "ncclGetLastError"},
	}
}

// load opens the library, once for the program.
var load = sync.OnceValues(openLibrary)

// openLibrary finds and binds the library.
func openLibrary() (*library, error) {
	if runtime.GOARCH != "amd64" {
		return nil, errors.Errorf("NCCL: want a processor of x86-64, whose calls are known, got %s: train by one GPU", runtime.GOARCH)
	}
	found, err := cu.Search{
		What: "NCCL", Env: "RESIDUA_NCCL", Names: []string{"libnccl.so.2"}, CUDA: true,
		Fix: "install NCCL 2.18 or newer, by pip install nvidia-nccl-cu12 or apt install libnccl2",
	}.Open()
	if err != nil {
		return nil, err
	}
	l := &library{path: found.Path}
	if err := found.Bind(l.symbols()); err != nil {
		return nil, errors.Wrap(err, "not NCCL 2.18 or newer")
	}
	var version int32
	if err := l.try("ncclGetVersion", 0, l.getVersion.Call(uintptr(unsafe.Pointer(&version)))); err != nil {
		return nil, err
	}
	if l.version = int(version); l.version < oldest {
		return nil, errors.Errorf("NCCL %s is too old: want 2.18 or newer, got %s: update it", l.path, l.name())
	}
	return l, nil
}

// name returns the version in words, as in 2.18.3. Before 2.9 it had fewer digits.
func (l *library) name() string {
	unit := 10000
	if l.version < unit {
		unit = 1000
	}
	return fmt.Sprintf("%d.%d.%d", l.version/unit, l.version%unit/100, l.version%100)
}

// Version returns the library's version, as in "2.18.3".
func Version() (string, error) {
	l, err := load()
	if err != nil {
		return "", err
	}
	return l.name(), nil
}

// Results of NCCL.
const (
	success    = 0
	inProgress = 7
)

// try turns a function's result into an error, or nil if the function has succeeded or is
// still in progress.
func (l *library) try(function string, comm, result uintptr) error {
	code := int32(result)
	if code == success || code == inProgress {
		return nil
	}
	text := goString(l.errorString.Call(uintptr(code)))
	if detail := goString(l.lastError.Call(comm)); detail != "" {
		text += ": " + detail
	}
	return errors.Errorf("%s: error %d: %s", function, code, text)
}

// goString copies a C string.
func goString(address uintptr) string {
	if address == 0 {
		return ""
	}
	c := *(**byte)(unsafe.Pointer(&address))
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(c), n)) != 0 {
		n++
	}
	return string(bytes.TrimSpace(unsafe.Slice(c, n)))
}
