package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/residua-go/residua/checkpoint"
)

// mode is a file's mode in an archive: a program may be run.
func mode(path string) int64 {
	if strings.HasPrefix(filepath.Base(path), "residua") {
		return 0o755
	}
	return 0o644
}

// writeTar writes files, without their folders and owners, into a tar file by gzip.
func writeTar(archive string, files []string, stamp time.Time) error {
	return checkpoint.WriteFileAtomic(archive, func(f io.Writer) error {
		zipped, err := gzip.NewWriterLevel(f, gzip.BestCompression)
		if err != nil {
			return err
		}
		w := tar.NewWriter(zipped)
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			h := tar.Header{Name: filepath.Base(path), Mode: mode(path), Size: int64(len(text)), ModTime: stamp, Format: tar.FormatUSTAR}
			if err := w.WriteHeader(&h); err != nil {
				return err
			}
			if _, err := w.Write(text); err != nil {
				return err
			}
		}
		if err := w.Close(); err != nil {
			return err
		}
		return zipped.Close()
	})
}

// writeZip writes files, without their folders, into a zip file.
func writeZip(archive string, files []string, stamp time.Time) error {
	return checkpoint.WriteFileAtomic(archive, func(f io.Writer) error {
		w := zip.NewWriter(f)
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			h := zip.FileHeader{Name: filepath.Base(path), Method: zip.Deflate, Modified: stamp}
			h.SetMode(os.FileMode(mode(path)))
			to, err := w.CreateHeader(&h)
			if err != nil {
				return err
			}
			if _, err := to.Write(text); err != nil {
				return err
			}
		}
		return w.Close()
	})
}

// writeSums writes the archives' SHA-256 sums, as sha256sum -c reads them.
func writeSums(out string) error {
	archives, err := filepath.Glob(filepath.Join(out, "residua_*"))
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, path := range archives {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(text), filepath.Base(path))
	}
	return checkpoint.Disk{}.WriteFile(filepath.Join(out, "SHA256SUMS"), []byte(sums.String()))
}
