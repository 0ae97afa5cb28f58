//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/ebitengine/purego"
	"github.com/pkg/errors"
)

// libraryNames are the file names of NVRTC in CUDA 12 and 13. The older comes first, since PTX of
// an older compiler runs with older drivers.
var libraryNames = []string{"libnvrtc.so.12", "libnvrtc.so.13"}

// openNVRTC opens NVRTC: the library that RESIDUA_NVRTC names, or the first that is found.
func openNVRTC() (uintptr, error) {
	if path := os.Getenv("RESIDUA_NVRTC"); path != "" {
		lib, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		return lib, errors.Wrap(err, "RESIDUA_NVRTC")
	}
	var tried []string
	for _, folder := range libraryFolders() {
		for _, name := range libraryNames {
			lib, err := purego.Dlopen(filepath.Join(folder, name), purego.RTLD_NOW|purego.RTLD_GLOBAL)
			if err == nil {
				return lib, nil
			}
			tried = append(tried, err.Error())
		}
	}
	return 0, errors.Errorf("NVRTC: want libnvrtc of CUDA 12 or 13, found none: install it (pip install nvidia-cuda-nvrtc-cu12) "+
		"or say where it is in RESIDUA_NVRTC; tried:\n  %s", strings.Join(tried, "\n  "))
}

// libraryFolders lists where to look for NVRTC; the empty string stands for the loader's path.
func libraryFolders() []string {
	folders := []string{""}
	if home := os.Getenv("CUDA_HOME"); home != "" {
		folders = append(folders, filepath.Join(home, "lib64"), filepath.Join(home, "lib"))
	}
	patterns := []string{"/usr/local/cuda*/lib64"}
	for _, root := range []string{os.Getenv("VIRTUAL_ENV"), os.Getenv("CONDA_PREFIX"), filepath.Join(os.Getenv("HOME"), ".local"), "/usr/local", "/usr"} {
		if root != "" {
			patterns = append(patterns, filepath.Join(root, "lib/python3*/*-packages/nvidia/*/lib"))
		}
	}
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err == nil { // the only possible error is a bracket in the name of a root
			folders = append(folders, found...)
		}
	}
	return folders
}
