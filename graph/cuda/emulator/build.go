//go:build cuda

package emulator

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/pkg/errors"
	"github.com/residua-go/residua/graph/cuda/internal/source"
)

const (
	driverName = "libcuda.so.1"
	blasName   = "libcublas.so"
	ncclName   = "libnccl.so.2"
)

// builder makes the libraries in a cache: an object for each file, named by a hash of
// everything it is made from, and a folder for each set of libraries, named by a hash of their
// objects. It does not make again what exists already.
type builder struct {
	emulator, kernels string // folders of the sources
	cache             string
	compiler          compiler
}

// object is a compiled file.
type object struct {
	*source.Unit
	kernel   bool         // a kernel file, not a part of the emulator
	emulator *source.Unit // emulator.h, which precedes a kernel file
	path     string       // path in the cache
}

// files returns all files that the object is made from.
func (o *object) files() []source.File {
	list := append([]source.File{o.File}, o.Headers...)
	if o.kernel {
		list = append(append(list, o.emulator.File), o.emulator.Headers...)
	}
	return list
}

func newBuilder(emulator, kernels string) (*builder, error) {
	c, err := findCompiler()
	if err != nil {
		return nil, err
	}
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	b := &builder{emulator: emulator, kernels: kernels, compiler: c, cache: filepath.Join(base, "residua-emulator")}
	return b, errors.Wrap(os.MkdirAll(b.cache, 0o755), "the emulator's cache")
}

// build returns the folder with the libraries. It leaves out kernel files that do not compile and
// returns their errors as failures.
func (b *builder) build() (folder string, failures []error, err error) {
	objects, err := b.objects()
	if err != nil {
		return "", nil, err
	}
	if folder = b.libraries(objects); exists(folder) {
		return folder, nil, nil
	}
	unlock, err := lock(filepath.Join(b.cache, "lock"))
	if err != nil {
		return "", nil, err
	}
	defer unlock()
	objects, failures, err = b.compile(objects)
	if err != nil {
		return "", nil, err
	}
	if folder = b.libraries(objects); exists(folder) { // another process made it while this one waited
		return folder, failures, nil
	}
	return folder, failures, b.link(objects, folder)
}

// objects lists the objects of the libraries.
func (b *builder) objects() ([]object, error) {
	header, err := source.Read(b.emulator, "emulator.h")
	if err != nil {
		return nil, err
	}
	parts, err := filepath.Glob(filepath.Join(b.emulator, "*.cpp"))
	if err != nil {
		return nil, err
	}
	kernels, err := source.Names(b.kernels)
	if err != nil {
		return nil, err
	}
	var list []object
	for _, p := range parts {
		unit, err := source.Read(b.emulator, filepath.Base(p))
		if err != nil {
			return nil, err
		}
		list = append(list, object{Unit: unit})
	}
	for _, name := range kernels {
		unit, err := source.Read(b.kernels, name)
		if err != nil {
			return nil, err
		}
		list = append(list, object{Unit: unit, kernel: true, emulator: header})
	}
	for i := range list {
		list[i].path = filepath.Join(b.cache, b.objectName(&list[i]))
	}
	return list, nil
}

// objectName returns a name that changes with everything the object depends on.
func (b *builder) objectName(o *object) string {
	h := sha256.New()
	for _, f := range o.files() {
		h.Write([]byte(f.Name + "\x00" + f.Text + "\x00"))
	}
	h.Write([]byte(b.compiler.identity + strings.Join(b.compiler.flags(o), " ") + wrapper))
	return o.unit() + "-" + hex.EncodeToString(h.Sum(nil)[:12]) + ".o"
}

// unit returns the file's name without its extension.
func (o *object) unit() string { return strings.TrimSuffix(o.Name, filepath.Ext(o.Name)) }

// libraries returns the folder of the libraries made from these objects.
func (b *builder) libraries(objects []object) string {
	h := sha256.New()
	for _, o := range objects {
		h.Write([]byte(o.path + "\n"))
	}
	return filepath.Join(b.cache, "lib-"+hex.EncodeToString(h.Sum(nil)[:12]))
}

// compile makes the missing objects, as many at a time as there are processors. It returns the
// objects that now exist, and the errors of kernel files; a part of the emulator must compile.
func (b *builder) compile(objects []object) (made []object, failures []error, err error) {
	var wait sync.WaitGroup
	slots := make(chan struct{}, runtime.NumCPU())
	results := make([]error, len(objects))
	for i := range objects {
		if exists(objects[i].path) {
			continue
		}
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			results[i] = b.compiler.compile(&objects[i])
		})
	}
	wait.Wait()
	for i, result := range results {
		switch {
		case result == nil:
			made = append(made, objects[i])
		case objects[i].kernel:
			failures = append(failures, result)
		default:
			return nil, nil, result
		}
	}
	return made, failures, nil
}

// link makes the libraries in a new folder, which gets its name when they are complete.
func (b *builder) link(objects []object, folder string) error {
	temporary, err := os.MkdirTemp(b.cache, "linking-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	var driver, blas, nccl []string
	for _, o := range objects {
		switch o.Name {
		case "blas.cpp":
			blas = append(blas, o.path)
		case "nccl.cpp":
			nccl = append(nccl, o.path)
		default:
			driver = append(driver, o.path)
		}
	}
	if err := b.compiler.link(filepath.Join(temporary, driverName), driver...); err != nil {
		return err
	}
	for name, parts := range map[string][]string{blasName: blas, ncclName: nccl} {
		parts = append(parts, "-L"+temporary, "-l:"+driverName, "-Wl,-rpath,$ORIGIN")
		if err := b.compiler.link(filepath.Join(temporary, name), parts...); err != nil {
			return err
		}
	}
	if err := os.Rename(temporary, folder); err != nil {
		return err
	}
	return b.prune()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
