// Package zoo finds trained models by name. Their files are in this folder of a clone of Residua,
// each with a card (NAME.md), and among the assets of a release. pretrained.Open and -checkpoint
// open them as "zoo:NAME".
package zoo

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/clone"
	"github.com/residua-go/residua/internal/spelling"
)

// Prefix begins the name of a model of the zoo, where a path could be given instead.
const Prefix = "zoo:"

const (
	extension = ".safetensors"
	release   = "https://github.com/residua-go/residua/releases/download/zoo-1"
	patience  = 10 * time.Minute // limit for a download of 10 MB
)

//go:embed SHA256SUMS
var checksums string

// Zoo is a list of models with known checksums, and the places to look for them.
type Zoo struct {
	checksums string // lines of sha256sum for NAME.safetensors
	clone     string // folder of the files in a clone; "": none
	cache     string // folder for downloads; "": none
	release   string // URL of the folder that has the files
}

// Standard returns the models that come with Residua. It looks for them first in a clone of
// Residua: the one that contains the working directory, or the one with which the go.mod there
// replaces Residua. Then it looks in the user's cache folder, then among the assets of a release of
// Residua.
func Standard() Zoo {
	z := Zoo{checksums: checksums, release: release}
	if root := clone.Around("."); root != "" {
		z.clone = filepath.Join(root, "zoo", "weights")
	}
	if cache, err := os.UserCacheDir(); err == nil {
		z.cache = filepath.Join(cache, "residua", "zoo")
	}
	return z
}

// Names lists the names of the models.
func (z Zoo) Names() (names []string) {
	for line := range strings.Lines(z.checksums) {
		_, file, _ := strings.Cut(strings.TrimSpace(line), "  ")
		names = append(names, strings.TrimSuffix(file, extension))
	}
	return names
}

// File returns the path of a model's file. If neither the clone nor the cache has the file, it
// downloads it to the cache folder. It returns an error if the file's SHA-256 checksum differs from
// the list's.
func (z Zoo) File(name string) (string, error) {
	sum, err := z.checksum(name)
	if err != nil {
		return "", err
	}
	for _, dir := range []string{z.clone, z.cache} {
		path := filepath.Join(dir, name+extension)
		if dir == "" || !isThere(path) {
			continue
		}
		got, err := checksumOf(path)
		if err == nil && got != sum {
			err = errors.Errorf("%s: want the SHA-256 checksum %s, got %s: remove the file", path, sum, got)
		}
		return path, err
	}
	return z.download(name, sum)
}

func (z Zoo) checksum(name string) (string, error) {
	for line := range strings.Lines(z.checksums) {
		if sum, file, _ := strings.Cut(strings.TrimSpace(line), "  "); file == name+extension {
			return sum, nil
		}
	}
	return "", errors.Errorf("%s%s: want one of %s%s", Prefix, name, strings.Join(z.Names(), ", "), spelling.Hint(name, z.Names()))
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func checksumOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	return hex.EncodeToString(hash.Sum(nil)), err
}

// download fetches a file and checks its checksum before it gives the file its name.
func (z Zoo) download(name, sum string) (path string, err error) {
	url := z.release + "/" + name + extension
	defer func() {
		err = errors.Wrapf(err, "%s%s: the file is neither in a clone of Residua around the working directory, or that its go.mod names, nor in %s, "+
			"and cannot be downloaded",
			Prefix, name, z.cache)
	}()
	if z.cache == "" {
		return "", errors.New("there is no cache folder: set HOME or XDG_CACHE_HOME")
	}
	if err := os.MkdirAll(z.cache, 0o777); err != nil {
		return "", err
	}
	part, err := os.CreateTemp(z.cache, name+".*.part")
	if err != nil {
		return "", err
	}
	defer func() {
		_ = part.Close()
		_ = os.Remove(part.Name()) // fails once the file has its final name
	}()
	if err := fetch(part, url); err != nil {
		return "", err
	}
	got, err := checksumOf(part.Name())
	if err != nil {
		return "", err
	}
	if got != sum {
		return "", errors.Errorf("%s: want the SHA-256 checksum %s, got %s", url, sum, got)
	}
	path = filepath.Join(z.cache, name+extension)
	return path, os.Rename(part.Name(), path)
}

// fetch writes the content at a URL to a file and flushes it to disk.
func fetch(to *os.File, url string) error {
	client := http.Client{Timeout: patience}
	answer, err := client.Get(url)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return errors.Errorf("%s: want the file, got %s", url, answer.Status)
	}
	if _, err := io.Copy(to, answer.Body); err != nil {
		return err
	}
	return to.Sync()
}
