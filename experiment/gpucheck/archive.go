package gpucheck

import (
	"archive/tar"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
	"github.com/pkg/errors"
)

// The programs have much in common: the window is wide enough for each to be written as its
// differences from the one before.
const window = 128 << 20

// Pack writes files into an archive, a tar file compressed by zstd. Their folders are not kept.
func Pack(archive string, files []string) (err error) {
	out, err := os.Create(archive)
	if err != nil {
		return errors.WithStack(err)
	}
	defer func() { err = keepFirst(err, out.Close()) }()
	compressed, err := zstd.NewWriter(out, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return errors.WithStack(err)
	}
	tarred := tar.NewWriter(compressed)
	for _, file := range files {
		if err := packFile(tarred, file); err != nil {
			return errors.Wrap(err, file)
		}
	}
	return errors.WithStack(keepFirst(tarred.Close(), compressed.Close()))
}

func packFile(to *tar.Writer, file string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	header := &tar.Header{Name: filepath.Base(file), Mode: int64(info.Mode().Perm()), Size: info.Size(), ModTime: info.ModTime()}
	if err := to.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(to, in)
	return err
}

// Unpack writes the files of an archive that Pack has made into a folder.
func Unpack(archive, folder string) error {
	in, err := os.Open(archive)
	if err != nil {
		return errors.WithStack(err)
	}
	defer func() { _ = in.Close() }()
	plain, err := zstd.NewReader(in, zstd.WithDecoderMaxWindow(window))
	if err != nil {
		return errors.WithStack(err)
	}
	defer plain.Close()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return errors.WithStack(err)
	}
	for files := tar.NewReader(plain); ; {
		header, err := files.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return errors.Wrap(err, archive)
		}
		if err := unpackFile(files, header, folder); err != nil {
			return errors.Wrapf(err, "%s: %s", archive, header.Name)
		}
	}
}

func unpackFile(from io.Reader, header *tar.Header, folder string) (err error) {
	if header.Name != filepath.Base(header.Name) {
		return errors.New("want a file's name without a folder")
	}
	out, err := os.OpenFile(filepath.Join(folder, header.Name), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, header.FileInfo().Mode())
	if err != nil {
		return err
	}
	defer func() { err = keepFirst(err, out.Close()) }()
	_, err = io.Copy(out, from)
	return err
}

func keepFirst(err, next error) error {
	if err != nil {
		return err
	}
	return next
}
