package gpucheck

import (
	"archive/tar"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
	"github.com/pkg/errors"
)

// The programs have much in common: the window is wide enough for each to be written as its
// differences from the one before.
const window = 128 << 20

// Pack writes files into an archive, a tar file compressed by zstd. Their folders are not kept.
func Pack(archive string, files []string) error { return packEnds(archive, files, math.MaxInt64) }

// packEnds packs the last limit bytes of each file.
func packEnds(archive string, files []string, limit int64) (err error) {
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
		if err := packFile(tarred, file, limit); err != nil {
			return errors.Wrap(err, file)
		}
	}
	return errors.WithStack(keepFirst(tarred.Close(), compressed.Close()))
}

func packFile(to *tar.Writer, file string, limit int64) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	size := min(info.Size(), limit)
	if _, err := in.Seek(info.Size()-size, io.SeekStart); err != nil {
		return err
	}
	header := &tar.Header{Name: filepath.Base(file), Mode: int64(info.Mode().Perm()), Size: size, ModTime: info.ModTime()}
	if err := to.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(to, io.LimitReader(in, size)) // the file may have grown
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

// What a report may take: the files that come back from a lent machine are bounded.
const (
	largestReport = 16 << 20 // bytes of its archive
	largestFile   = 4 << 20  // bytes of one of its files, of which the end is kept
)

// PackReport writes the files of a report's folder into an archive of at most 16 MiB, in the place of
// an older one at once: whenever it stops, a whole archive is there. Of long files the end is kept,
// of shorter ends the larger the archive would be.
func PackReport(dir, archive string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return errors.WithStack(err)
	}
	var files []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	partial := archive + ".partial"
	for limit := int64(largestFile); ; limit /= 4 {
		info, err := packed(partial, files, limit)
		if err != nil {
			_ = os.Remove(partial) // as far as it has come
			return err
		}
		if info.Size() <= largestReport || limit < 1<<10 {
			return errors.WithStack(os.Rename(partial, archive))
		}
	}
}

func packed(archive string, files []string, limit int64) (os.FileInfo, error) {
	if err := packEnds(archive, files, limit); err != nil {
		return nil, err
	}
	info, err := os.Stat(archive)
	return info, errors.WithStack(err)
}

func keepFirst(err, next error) error {
	if err != nil {
		return err
	}
	return next
}
