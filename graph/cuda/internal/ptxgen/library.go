//go:build linux

package main

import (
	"os"
	"strings"

	"github.com/ebitengine/purego"
	"github.com/pkg/errors"
)

// openNVRTC opens NVRTC of CUDA 12 or 13: the library that RESIDUA_NVRTC names, or the first in the
// loader's path or in the toolkit's folder. The older comes first, since PTX of an older compiler
// runs with older drivers.
func openNVRTC() (uintptr, error) {
	names := []string{"libnvrtc.so.12", "libnvrtc.so.13", "/usr/local/cuda/lib64/libnvrtc.so"}
	if path := os.Getenv("RESIDUA_NVRTC"); path != "" {
		names = []string{path}
	}
	var tried []string
	for _, name := range names {
		lib, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err == nil {
			return lib, nil
		}
		tried = append(tried, err.Error())
	}
	return 0, errors.Errorf("NVRTC: want libnvrtc of CUDA 12 or 13, found none: install it (pip install nvidia-cuda-nvrtc-cu12) "+
		"and say where it is in RESIDUA_NVRTC; tried:\n  %s", strings.Join(tried, "\n  "))
}
